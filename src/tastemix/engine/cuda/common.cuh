// What all kernels share; Python puts it in front of each source.

typedef long long i64;
typedef unsigned long long u64;

enum : unsigned { everyone = 0xffffffffu };

struct Half {                   // one compressed half of the ratings
    const i64* pointers;
    const int* indices;
    const unsigned char* codes; // of the values, where there are few levels; otherwise null
    const float* values;        // the values themselves, or the levels by code
    const int* rows;            // slots: rows, the longest first
    const i64* first;           // the first piece of each slot that is cut into pieces, and the end
    const int* slot;            // of every piece
};

#define DEVICE [[maybe_unused]] static __device__ __forceinline__
#define KERNEL extern "C" __global__ void

DEVICE int lane_of() { return threadIdx.x & 31; }
DEVICE float value_at(const Half& h, i64 e) { return h.codes ? __ldg(h.values + h.codes[e]) : h.values[e]; }
