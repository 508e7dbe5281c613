// The compiled core of gainsay: a library without the API of Python, called through ctypes.

#if defined(_WIN32)
#define GAINSAY_EXPORT extern "C" __declspec(dllexport)
#else
#define GAINSAY_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// The version of the functions below; _kernel/library.py loads no other.
GAINSAY_EXPORT int gainsay_kernel_abi(void) { return 1; }
