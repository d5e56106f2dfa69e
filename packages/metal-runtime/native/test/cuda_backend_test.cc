// What the CUDA backend does when something goes wrong, over the stand-in for NVIDIA's driver, which fails to order. Prints one
// line a test and returns how many failed. Built and started by test/gpu-faults.test.ts.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backend_case.h"
#include "control.h"
#include "cuda_device.h"

using namespace markbase;
using namespace markbase::test;

namespace {

/** Functions of the stand-in that the driver lacks. */
struct Control {
  decltype(&cuda_sim_fail) fail;
  decltype(&cuda_sim_reset) reset;
  decltype(&cuda_sim_counts) counts;
  decltype(&cuda_sim_reset_counts) reset_counts;
} control;

bool load_control() {
  void* library = dlopen(std::getenv("MARKBASE_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  control = {reinterpret_cast<decltype(control.fail)>(dlsym(library, "cuda_sim_fail")),
             reinterpret_cast<decltype(control.reset)>(dlsym(library, "cuda_sim_reset")),
             reinterpret_cast<decltype(control.counts)>(dlsym(library, "cuda_sim_counts")),
             reinterpret_cast<decltype(control.reset_counts)>(dlsym(library, "cuda_sim_reset_counts"))};
  return control.fail && control.reset && control.counts && control.reset_counts;
}

CudaSimCounts counts() {
  CudaSimCounts now;
  control.counts(&now);
  return now;
}

/** Sets an environment variable for a scope. */
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    had_old_ = old != nullptr;
    if (old) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (had_old_) setenv(name_, old_.c_str(), 1);
    else unsetenv(name_);
  }

 private:
  const char* name_;
  bool had_old_;
  std::string old_;
};

Status open(std::shared_ptr<Device>* out) { return open_kind("cuda", out); }

/** Reasons why a device cannot be opened. */
std::string refusal() {
  std::shared_ptr<Device> device;
  const Status status = open(&device);
  EXPECT(status.code == StatusCode::kDeviceUnavailable);
  return status.message;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/** Runs before any device is opened, because a driver that loaded once stays loaded. */
void there_is_no_usable_gpu() {
  {
    const Setting library("MARKBASE_LIBCUDA", "/nowhere/libcuda.so.1");
    EXPECT(contains(refusal(), "was not found: install the NVIDIA driver, or use --device cpu"));
  }
  {
    const Setting version("CUDA_SIM_VERSION", "11040");
    const std::string reason = refusal();
    EXPECT(contains(reason, "CUDA 11.4") && contains(reason, "11.8"));
    std::shared_ptr<Device> device;
    std::string note;
    // Without the CPU backend nothing is left for "auto".
    EXPECT(!open_device({"auto", 0, ""}, &device, &note).ok());
    EXPECT(contains(note, "CUDA 11.4"));
  }
  {
    const Setting gpus("CUDA_SIM_GPUS", "0");
    EXPECT(contains(refusal(), "finds no GPU"));
  }
  control.fail(kCudaSimInit, 0, 1);
  EXPECT(contains(refusal(), "does not start: CUDA_ERROR_UNKNOWN"));
  {
    const Setting capability("CUDA_SIM_CAPABILITY", "75");
    EXPECT(contains(refusal(), "simulated GPU has compute capability 7.5, expected 8.0 or newer"));
  }
  {
    const Setting ptx("MARKBASE_PTX", "/nowhere");
    EXPECT(contains(refusal(), "no CUDA kernels: /nowhere/kernels.json"));
  }
}

void opening_fails() {
  std::shared_ptr<Device> device;
  for (const int kind : {kCudaSimNoContext, kCudaSimNoStream}) {
    control.fail(kind, 0, 1);
    EXPECT(!open(&device).ok());
  }
  EXPECT(open(&device).ok());
  const DeviceInfo info = device->info();
  EXPECT(info.kind == "cuda" && info.name == "simulated GPU" && info.isa == "sm_90" && info.driver == "CUDA 12.4");
}

void preparing_fails(int kind, StatusCode code, const char* text, uint32_t count = 1) {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  control.fail(kind, 0, count);
  const Status status = make_program(*device, &program);
  EXPECT(status.code == code && contains(status.message, text));
  control.reset();
  EXPECT(make_program(*device, &program).ok());
  EXPECT(program && is_right(run(*program)));
}

void memory_is_short() {
  const Setting memory("CUDA_SIM_MEMORY", "100000000");
  std::shared_ptr<Device> device;
  EXPECT(open(&device).ok());
  Status status = device->require_memory(200000000, "weights");
  EXPECT(status.code == StatusCode::kOutOfMemory && status.where == "weights" && status.bytes == 200000000);
  EXPECT(contains(status.message, "100000000 bytes free of 100000000"));
  EXPECT(device->require_memory(1000, "weights").ok());
  BufferPtr first, second, third;
  // A block, the rest of it, and the memory that remains after it.
  EXPECT(device->allocate(60000000, "cache", &first).ok());
  EXPECT(device->allocate(30000000, "cache", &second).ok());
  status = device->allocate(30000000, "cache", &third);
  EXPECT(status.code == StatusCode::kOutOfMemory && status.bytes == 30000000);
  first = nullptr;
  EXPECT(device->allocate(30000000, "cache", &third).ok());
  second = third = nullptr;
  EXPECT(counts().allocated_bytes == 0);
  // A larger region than the one that was returned.
  std::shared_ptr<cuda::Region> scratch;
  cuda::MemoryPool& pool = static_cast<cuda::CudaDevice&>(*device).memory();
  for (const size_t size : {100, 1000}) EXPECT(pool.allocate(size, "scratch", &scratch).ok());
  scratch = nullptr;
  EXPECT(counts().allocated_bytes == 0);
  control.fail(kCudaSimNoCopy, 0, 1);
  EXPECT(device->upload("abc", 3, "gain", &first).code == StatusCode::kDevice);
}

/** The first step fails, and the second works. */
void fails_once(int kind, StatusCode code) {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  control.fail(kind, 0, 1);
  EXPECT(run(*program).status.code == code);
  EXPECT(is_right(run(*program)));
  EXPECT(is_right(run(*program)));
}

/** Waits until a released device is destroyed: the thread that ended its last step may be its last owner. */
void wait_until_gone() {
  for (int i = 0; i < 30000 && counts().live_objects != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void device_is_lost(int kind, const char* reason) {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  control.fail(kind, 0, 1);
  const Status status = run(*program).status;
  EXPECT(status.code == StatusCode::kDevice && contains(status.message, reason) && contains(status.message, "lost"));
  const Status next = run(*program).status;
  EXPECT(next.code == StatusCode::kDevice && contains(next.message, "open the device again"));
  program = nullptr;
  device = nullptr;
  wait_until_gone();
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  EXPECT(is_right(run(*program)));
}

void steps_are_stopped() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  const int32_t cancelled = 1;
  EXPECT(run(*program, &cancelled).status.code == StatusCode::kCancelled);
  EXPECT(is_right(run(*program)));
  device->shut_down();
  EXPECT(run(*program).status.code == StatusCode::kCancelled);
}

void a_step_is_one_graph() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  std::vector<PlannedDispatch> planned;
  EXPECT(program->plan_step({1, 0, 1}, &planned).ok());
  control.reset_counts();
  for (int i = 0; i < 3; ++i) EXPECT(is_right(run(*program)));
  const CudaSimCounts now = counts();
  // Created once and replayed, with one copy in each direction; the graph has one copy in and one copy out.
  EXPECT(now.graphs == 1 && now.graph_launches == 3 && now.copies_to_device == 3 && now.copies_to_host == 3);
  EXPECT(now.launches == 3 * (planned.size() + 2));
  // A step without outputs has a separate graph.
  EXPECT(run(*program, nullptr, false).status.ok());
  EXPECT(counts().graphs == 2);
}

void steps_may_wait_for_one_another() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program).ok());
  TestStep steps[5];
  for (TestStep& step : steps) step.start(*program);
  for (TestStep& step : steps) EXPECT(is_right(step.wait()));
}

void commands_are_measured() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_program(*device, &program, true).ok());
  control.fail(kCudaSimNoEvent, 1, 1);
  EXPECT(!run(*program).status.ok());
  EXPECT(is_right(run(*program)));
  EXPECT(program->seconds().size() == 1 && program->seconds()[0] > 0);
  EXPECT(counts().graph_launches == 0);
}

/** y = 2 x with a matrix far from the start of a file. */
void weights_come_from_a_file(const std::string& folder) {
  const std::string path = folder + "/weights.bin";
  constexpr size_t kOffset = size_t{9} << 20;
  {
    std::ofstream file(path, std::ios::binary);
    std::vector<float> row(kWidth, 0.0f);
    file << std::string(kOffset, 'x');
    for (uint32_t i = 0; i < kWidth; ++i) {
      row.assign(kWidth, 0.0f);
      row[i] = 2.0f;
      file.write(reinterpret_cast<const char*>(row.data()), kBytes);
    }
  }
  std::shared_ptr<Device> device;
  EXPECT(open(&device).ok());
  BufferPtr weight, same, all, none;
  control.reset_counts();
  EXPECT(device->uploads().queued_bytes == 0);
  EXPECT(device->map(path, kOffset, kWidth * kBytes, &weight).ok());
  EXPECT(device->map(path, kOffset, kWidth * kBytes, &same).ok());
  EXPECT(device->map(path, kOffset, 0, &none).ok() && none->size_bytes() == 0);
  EXPECT(device->map(path, kOffset, kWidth * kBytes + 1, &all).code == StatusCode::kCorruptFile);
  EXPECT(device->map(folder, 0, 1, &all).code == StatusCode::kFileAccess);
  EXPECT(device->map(folder + "/missing", 0, 1, &all).code == StatusCode::kFileAccess);
  OpCall call{"linear", "product", {}, std::vector<Binding>(10)};
  for (const char* name : {"rowSet",
                           "gathers",
                           "isFast",
                           "hasResidual",
                           "residualStride",
                           "hStride",
                           "residualGainType",
                           "hasNorm",
                           "normGainType",
                           "epilogue",
                           "operandStride",
                           "eps",
                           "cap",
                           "weight0.hasClip",
                           "weight0.inputLow",
                           "weight0.inputHigh",
                           "weight0.outputLow",
                           "weight0.outputHigh",
                           "weight0.format",
                           "weight0.bits",
                           "weight0.group",
                           "weight0.scaleType"}) {
    call.attributes[name] = 0;
  }
  for (const auto& [name, value] : std::vector<std::pair<const char*, double>>{{"in", kWidth},
                                                                               {"weights", 1},
                                                                               {"hasFewRows", 1},
                                                                               {"xStride", kWidth},
                                                                               {"residualScale", 1},
                                                                               {"weight0.out", kWidth},
                                                                               {"weight0.yStride", kWidth}}) {
    call.attributes[name] = value;
  }
  call.operands[0] = {Binding::Kind::kArena, nullptr, 0, kBytes, false};
  call.operands[6] = {Binding::Kind::kBuffer, same, 0, kWidth * kBytes, false};
  call.operands[9] = {Binding::Kind::kArena, nullptr, 64, kBytes, true};
  std::shared_ptr<Program> program;
  EXPECT(make_program_of(*device, call, false, &program).ok());
  EXPECT(program && is_right(run(*program)));
  // Loaded once: the range, and the memory of the step.
  EXPECT(counts().copied_bytes < 2 * kWidth * kBytes + 8192);

  // A large range is loaded in pieces, and steps wait for it.
  EXPECT(device->map(path, 0, kOffset, &all).ok());
  call.operands[8] = {Binding::Kind::kBuffer, all, 0, kOffset, false};
  EXPECT(make_program_of(*device, call, false, &program).ok());
  TestStep steps[3];
  for (TestStep& step : steps) step.start(*program);
  for (TestStep& step : steps) EXPECT(is_right(step.wait()));
  EXPECT(device->uploads().queued_bytes == kOffset + kWidth * kBytes && device->uploads().arrived_bytes == kOffset + kWidth * kBytes);

  // No pinned memory, and a file that shrinks: errors of the step.
  program = nullptr;
  weight = same = all = none = nullptr;
  call.operands[6] = call.operands[8] = {};
  device = nullptr;
  EXPECT(open(&device).ok());
  control.fail(kCudaSimNoHostMemory, 0, 100);
  EXPECT(device->map(path, kOffset, kWidth * kBytes, &same).ok());
  call.operands[6] = {Binding::Kind::kBuffer, same, 0, kWidth * kBytes, false};
  EXPECT(make_program_of(*device, call, false, &program).ok());
  EXPECT(run(*program).status.code == StatusCode::kOutOfMemory);
  EXPECT(device->uploads().queued_bytes == 0 && device->uploads().arrived_bytes == 0);
  control.reset();
}

void a_file_shrinks(const std::string& folder) {
  const std::string path = folder + "/shrinks.bin";
  std::ofstream(path, std::ios::binary) << std::string(size_t{64} << 20, 'x');
  std::shared_ptr<Device> device;
  EXPECT(open(&device).ok());
  BufferPtr weight;
  EXPECT(device->map(path, 0, size_t{64} << 20, &weight).ok());
  EXPECT(truncate(path.c_str(), 100) == 0);
  OpCall call{"elementwise",
              "double",
              {{"op", 1},
               {"rowSet", 0},
               {"width", kWidth},
               {"aStride", kWidth},
               {"bStride", kWidth},
               {"yStride", kWidth},
               {"scale", 2},
               {"high", 0}},
              std::vector<Binding>(3)};
  call.operands[0] = {Binding::Kind::kBuffer, weight, 0, kBytes, false};
  call.operands[2] = {Binding::Kind::kArena, nullptr, 64, kBytes, true};
  std::shared_ptr<Program> program;
  EXPECT(make_program_of(*device, call, false, &program).ok());
  const Status status = run(*program).status;
  EXPECT(status.code == StatusCode::kCorruptFile && status.where == path);
  // Bytes that cannot be read are no longer counted.
  const UploadCounts uploads = device->uploads();
  EXPECT(uploads.arrived_bytes == uploads.queued_bytes && uploads.queued_bytes < size_t{64} << 20);
}

void a_device_is_closed_while_it_reads(const std::string& folder) {
  const std::string path = folder + "/large.bin";
  constexpr size_t kSize = size_t{512} << 20;
  std::ofstream(path, std::ios::binary).put('x');
  std::filesystem::resize_file(path, kSize);
  std::shared_ptr<Device> device;
  EXPECT(open(&device).ok());
  BufferPtr weight;
  EXPECT(device->map(path, 0, kSize, &weight).ok());
  device->shut_down();
  // The rest is not read, and no longer counts.
  const UploadCounts uploads = device->uploads();
  EXPECT(uploads.arrived_bytes == uploads.queued_bytes && uploads.queued_bytes < kSize);
}

void nothing_is_left() {
  EXPECT(counts().live_objects == 0);
  EXPECT(counts().allocated_bytes == 0);
  EXPECT(counts().misuses == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !load_control()) return 1;
  const std::string folder = argv[1];
  const auto test = [](const char* name, auto&& body) {
    wait_until_gone();
    markbase::test::test(name, control.reset, body);
  };
  control.reset_counts();
  test("no usable GPU", there_is_no_usable_gpu);
  test("a device cannot be opened", opening_fails);
  test("a module does not compile", [] { preparing_fails(kCudaSimNoModule, StatusCode::kDevice, "ptxas fatal"); });
  test("PTX is too new", [] { preparing_fails(kCudaSimOldPtx, StatusCode::kDevice, "supports CUDA 12.4: update it"); });
  test("no memory for a program", [] { preparing_fails(kCudaSimNoMemory, StatusCode::kOutOfMemory, "bytes free of", 2); });
  test("no memory", memory_is_short);
  test("a graph cannot be made", [] { fails_once(kCudaSimNoGraph, StatusCode::kOutOfMemory); });
  test("a graph is refused", [] { fails_once(kCudaSimNoLaunch, StatusCode::kDevice); });
  test("a copy is refused", [] { fails_once(kCudaSimNoCopy, StatusCode::kDevice); });
  test("no pinned memory for a step", [] { fails_once(kCudaSimNoHostMemory, StatusCode::kOutOfMemory); });
  test("no event for a step", [] { fails_once(kCudaSimNoEvent, StatusCode::kOutOfMemory); });
  test("a kernel fails", [] { device_is_lost(kCudaSimLaunchFails, "CUDA_ERROR_LAUNCH_FAILED"); });
  test("memory is damaged", [] { device_is_lost(kCudaSimEcc, "CUDA_ERROR_ECC_UNCORRECTABLE"); });
  test("steps are stopped", steps_are_stopped);
  test("a step is one graph", [] {
    control.reset_counts();
    a_step_is_one_graph();
  });
  test("steps wait for one another", steps_may_wait_for_one_another);
  test("commands are measured", [] {
    control.reset_counts();
    commands_are_measured();
  });
  test("weights come from a file", [&] { weights_come_from_a_file(folder); });
  test("a file shrinks", [&] { a_file_shrinks(folder); });
  test("a device is closed while it reads", [&] { a_device_is_closed_while_it_reads(folder); });
  test("nothing is left", nothing_is_left);
  return failures;
}
