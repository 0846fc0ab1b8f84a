#include "pool.hpp"

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace tastemix {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = std::chrono::milliseconds(50);

struct Job {
    int64_t count;
    Task task;
    void* context;
    int workers;
    std::atomic<int64_t> next{0};
    std::atomic<bool> cancelled{false};
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};   // of the first task that threw

    bool asked_to_stop(Poll poll, Clock::time_point& asked) {
        if (poll && Clock::now() - asked >= poll_interval) {
            if (poll()) cancelled.store(true, std::memory_order_relaxed);
            asked = Clock::now();
        }
        return cancelled.load(std::memory_order_relaxed);
    }

    void work(int worker, Poll poll);
};

// What the thread is at, for give_up.
struct Now {
    Job* job;
    Poll poll;
    Clock::time_point asked;
};
thread_local Now* now = nullptr;

void Job::work(int worker, Poll poll) {
    Now mine{this, poll, Clock::now()};
    Now* const before = now;    // a signal handler may start work within work
    now = &mine;
    for (;;) {
        const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= count || cancelled.load(std::memory_order_relaxed)) break;
        try {
            task(context, chunk, worker);
        } catch (...) {    // others may still be at this job: it is raised when all are done
            if (!failed.exchange(true)) failure = std::current_exception();
            cancelled.store(true, std::memory_order_relaxed);
        }
        asked_to_stop(poll, mine.asked);
    }
    now = before;
}

// Never destroyed: its threads sleep until the process ends, or until it is retired.
class Pool {
   public:
    const int size;         // as asked for
    const pid_t process = getpid();

    // As many threads as the system gives: with fewer than asked for, the work is the same.
    explicit Pool(int n) : size(n) {
        try {
            for (; there_ < n; there_++) std::thread(&Pool::serve, this, there_).detach();
        } catch (const std::system_error&) {
        }
    }

    void run(Job& mine, Poll poll) {
        if (there_ == 1 || mine.workers == 1 || mine.count == 1 || busy_.exchange(true)) {
            mine.work(0, poll);
            return;
        }
        if (!dismissed_) {
            job_ = &mine;
            running_.store(there_ - 1);
            wake();
        }
        mine.work(0, poll);
        wait(mine, poll);
        busy_.store(false);
        if (retired_) dismiss();
    }

    // Ends its threads, when the work under way is done. Waits for nothing.
    void retire() {
        retired_.store(true);
        dismiss();
    }

   private:
    int there_ = 1;         // threads there are, the caller counted
    std::atomic<bool> busy_{false};
    std::atomic<bool> retired_{false};
    bool dismissed_ = false;            // read and written by whoever made it busy, and then by its threads
    Job* job_ = nullptr;
    std::atomic<uint32_t> started_{0};
    std::atomic<int> running_{0};
    std::mutex ending_;
    std::condition_variable ended_;

    void serve(int worker) {
        for (uint32_t seen = 0;;) {
            started_.wait(seen);
            seen = started_.load();
            if (dismissed_) return;
            if (worker < job_->workers) job_->work(worker, nullptr);
            if (running_.fetch_sub(1) != 1) continue;
            const std::scoped_lock lock(ending_);
            ended_.notify_one();
        }
    }

    void wake() {
        started_.fetch_add(1);
        started_.notify_all();
    }

    // The caller goes on asking while it waits: another thread may be at a long chunk.
    void wait(Job& mine, Poll poll) {
        auto asked = Clock::now();
        const auto done = [&] { return running_.load() == 0; };
        for (std::unique_lock lock(ending_); !ended_.wait_for(lock, poll_interval, done);) {
            lock.unlock();
            mine.asked_to_stop(poll, asked);
            lock.lock();
        }
    }

    // Whoever retires it and whoever is done with it both try: one of them comes after the other.
    void dismiss() {
        if (busy_.exchange(true)) return;
        dismissed_ = true;
        wake();
        busy_.store(false);
    }
};

int available() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    const int n = int(std::thread::hardware_concurrency());
    return n > 0 ? n : 1;
}

std::atomic<int> wanted{0};
std::atomic<Pool*> current{nullptr};

// A fork takes no threads along: a child finds the parent's pool by its process number and leaves
// it alone. Nothing here is locked, so that a fork at any moment leaves the child nothing to wait for.
Pool& pool() {
    for (Pool* p = current.load();;) {
        const int size = threads();
        if (p && p->size == size && p->process == getpid()) return *p;
        Pool* fresh = new Pool(size);
        if (current.compare_exchange_strong(p, fresh)) {
            if (p && p->process == getpid()) p->retire();
            return *fresh;
        }
        fresh->retire();    // another thread was first
    }
}

}  // namespace

int threads() {
    const int n = wanted.load();
    return n > 0 ? n : available();
}

void set_threads(int n) { wanted.store(n); }

bool give_up() { return now && now->job->asked_to_stop(now->poll, now->asked); }

bool parallel(int64_t count, int workers, Task task, void* context, Poll poll) {
    Job job{count, task, context, workers};
    pool().run(job, poll);
    if (job.failure) std::rethrow_exception(job.failure);
    return !job.cancelled;
}

}  // namespace tastemix
