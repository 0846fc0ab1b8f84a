// A small persistent thread pool. Chunks are handed out by a counter, so which thread takes which
// chunk is open: a task must write only to places that belong to its chunk or its worker.
#pragma once
#include <cstdint>

namespace tastemix {

using Task = void (*)(void* context, int64_t chunk, int worker);
using Poll = bool (*)();    // true: give up

int threads();
void set_threads(int n);

// Runs the task on chunks 0..count-1 with worker numbers below `workers` (threads() when the caller
// made room for each). Every thread, the caller
// too, enters the task through the same pointer, so no copy of it is compiled for the caller alone.
// The caller asks `poll` now and then between chunks; false: it said to give up and the rest of
// the chunks were left out. A second caller at the same time does its chunks alone as worker 0.
// What a task throws, the caller is thrown when all threads have left the task.
bool parallel(int64_t count, int workers, Task task, void* context, Poll poll);

// For a task that takes long, to ask now and then: true when the caller said to give up, and what
// the task leaves behind will not be looked at.
bool give_up();

}  // namespace tastemix
