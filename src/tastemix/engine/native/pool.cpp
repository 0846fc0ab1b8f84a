#include "pool.hpp"

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

namespace tastemix {
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(50);

struct Job {
    int64_t count;
    Task task;
    void* context;
    int workers;
    std::atomic<int64_t> next{0};
    std::atomic<bool> cancelled{false};

    void work(int worker, Poll poll) {
        auto asked = std::chrono::steady_clock::now();
        for (;;) {
            const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= count || cancelled.load(std::memory_order_relaxed)) return;
            task(context, chunk, worker);
            if (!poll) continue;
            const auto now = std::chrono::steady_clock::now();
            if (now - asked < poll_interval) continue;
            asked = now;
            if (poll()) cancelled.store(true, std::memory_order_relaxed);
        }
    }
};

// Never destroyed: its threads sleep until the process ends.
struct Pool {
    const int size;         // as asked for
    int there = 1;          // threads there are, the caller counted
    const pid_t process = getpid();
    std::mutex busy;
    Job* job = nullptr;
    std::atomic<uint32_t> started{0};
    std::atomic<int> running{0};
    std::atomic<bool> retired{false};

    // As many threads as the system gives: with fewer than asked for, the work is the same.
    explicit Pool(int n) : size(n) {
        try {
            for (; there < n; there++) std::thread(&Pool::serve, this, there).detach();
        } catch (const std::system_error&) {
        }
    }

    void serve(int worker) {
        for (uint32_t seen = 0;;) {
            started.wait(seen);
            seen = started.load();
            if (retired.load()) return;
            if (worker < job->workers) job->work(worker, nullptr);
            if (running.fetch_sub(1) == 1) running.notify_one();
        }
    }

    bool run(Job& mine, Poll poll) {
        const std::unique_lock lock(busy, std::try_to_lock);
        if (!lock.owns_lock() || retired || there == 1 || mine.workers == 1 || mine.count == 1) {
            mine.work(0, poll);
            return !mine.cancelled;
        }
        job = &mine;
        running.store(there - 1);
        started.fetch_add(1);
        started.notify_all();
        mine.work(0, poll);
        for (int left; (left = running.load()) != 0;) running.wait(left);
        return !mine.cancelled;
    }

    void retire() {
        const std::scoped_lock lock(busy);
        retired.store(true);
        started.fetch_add(1);
        started.notify_all();
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
std::mutex building;

// A fork takes no threads along: a child finds the parent's pool by its process number and leaves
// it alone.
Pool& pool() {
    Pool* p = current.load();
    if (p && p->size == threads() && p->process == getpid()) return *p;
    const std::scoped_lock lock(building);
    p = current.load();
    if (p && p->size == threads() && p->process == getpid()) return *p;
    if (p && p->process == getpid()) p->retire();
    p = new Pool(threads());
    current.store(p);
    return *p;
}

}  // namespace

int threads() {
    const int n = wanted.load();
    return n > 0 ? n : available();
}

void set_threads(int n) { wanted.store(n); }

bool parallel(int64_t count, int workers, Task task, void* context, Poll poll) {
    Job job{count, task, context, workers};
    return pool().run(job, poll);
}

}  // namespace tastemix
