// A library with the functions of NVIDIA's management library that are called, and two GPUs, for tests.
#include <cstdio>
#include <cstring>

namespace {

int gpus[2] = {0, 1};
int number_of(void* device) { return *static_cast<int*>(device); }

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::snprintf(out, size, "550.54.15");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** out) {
  *out = &gpus[i];
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  std::snprintf(out, size, "NVIDIA Test %d", number_of(device));
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  std::snprintf(out, size, "GPU-%dabc", number_of(device) + 1);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* out) {
  out[0] = (number_of(device) + 1ull) << 30;
  out[1] = out[2] = 0;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
}
