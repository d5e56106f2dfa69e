// What the Metal backend does when something goes wrong, over the stand-in for Metal, which fails to order. Prints one line a
// test and returns how many failed. Built and started by test/gpu-faults.test.ts.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "control.h"
#include "metal_backend_case.h"

namespace {

/** Requests a failure and runs twice: the first step fails, the second succeeds. */
Status fails_once(Program& program, int kind) {
  EXPECT(is_right(program));
  metal_sim_fail(kind, 0, 1);
  const Status failed = run(program);
  EXPECT(contains(failed.where, "test"));
  EXPECT(is_right(program));
  return failed;
}

void step_fails(int kind, StatusCode code) {
  EXPECT(fails_once(*Opened().program, kind).code == code);
  // With a command buffer for each command, the error names the command.
  const Status failed = fails_once(*Opened({.measures_time = true}).program, kind);
  EXPECT(failed.code == code);
  EXPECT(kind == kMetalSimNoCommandBuffer || failed.where == "test: double");
}

void opening_fails() {
  std::shared_ptr<Device> device;
  for (const int kind : {kMetalSimNoDevice, kMetalSimOldGpu}) {
    metal_sim_fail(kind, 0, 1);
    EXPECT(open(&device).code == StatusCode::kDeviceUnavailable);
  }
  metal_sim_fail(kMetalSimNoQueue, 0, 1);
  EXPECT(open(&device).code == StatusCode::kDevice);
  EXPECT(open(&device).ok());
}

/** The event of a kind after `skip` others fails while a program is created. */
void preparing_fails(int kind, uint32_t skip, StatusCode code, const std::string& message = "") {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  metal_sim_fail(kind, skip, 1);
  const Status status = make_program(*device, &program, {.checks_finite = true});
  EXPECT(status.code == code);
  EXPECT(contains(status.message, message));
  metal_sim_reset();
  EXPECT(make_program(*device, &program).ok());
  EXPECT(program && is_right(*program));
}

void pipeline_has_few_threads() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  // The first two are those of copies.
  metal_sim_fail(kMetalSimFewThreads, 2, 1);
  const Status status = make_program(*device, &program);
  EXPECT(status.code == StatusCode::kDevice && status.where == "elementwise");
  EXPECT(contains(status.message, "at most 32 threads"));
}

void memory_is_short() {
  std::shared_ptr<Device> device;
  EXPECT(open(&device).ok());
  BufferPtr buffer;
  const auto allocate = [&](int kind, uint32_t skip = 0) {
    metal_sim_fail(kind, skip, 1);
    return device->allocate(100, "cache", &buffer);
  };
  // The heap, the buffer in it, and the command buffer that writes zeros.
  for (const Status& status : {allocate(kMetalSimNoBuffer), allocate(kMetalSimNoBuffer, 1), allocate(kMetalSimOutOfMemory)}) {
    EXPECT(status.code == StatusCode::kOutOfMemory && status.where == "cache" && status.bytes == 100);
  }
  EXPECT(allocate(kMetalSimNoCommandBuffer).code == StatusCode::kDevice);
  EXPECT(contains(allocate(kMetalSimCommandBufferFails).message, "Internal Error"));
  EXPECT(device->allocate(100, "cache", &buffer).ok() && buffer->size_bytes() == 100);
  EXPECT(device->allocate(size_t{1} << 60, "cache", &buffer).code == StatusCode::kOutOfMemory);
  metal_sim_fail(kMetalSimNoBuffer, 0, 1);
  EXPECT(device->upload("abc", 3, "gain", &buffer).code == StatusCode::kOutOfMemory);
  Opened opened;
  metal_sim_fail(kMetalSimNoBuffer, 0, 1);
  EXPECT(run(*opened.program).code == StatusCode::kOutOfMemory);
  EXPECT(is_right(*opened.program));
}

void memory_is_zeroed() {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  Wanted wanted;
  EXPECT(device->allocate(kBytes, "cache", &wanted.addend).ok());
  EXPECT(make_program(*device, &program, wanted).ok());
  EXPECT(is_right(*program));
}

void device_is_lost() {
  Opened opened;
  metal_sim_fail(kMetalSimDeviceLost, 0, 1);
  EXPECT(contains(run(*opened.program).message, "lost"));
  const Status next = run(*opened.program);
  EXPECT(next.code == StatusCode::kDevice && contains(next.message, "open the device again"));
  metal_sim_reset();
  EXPECT(is_right(*Opened().program));
}

/** A fault of a kernel tells where it happened: the encoder and its kernels. */
void kernel_faults() {
  // Less than a page beyond the end of the arena, where every access hits the guard.
  constexpr uint32_t kWide = 1024;
  const Opened opened({.width = kWide});
  const Status status = run(*opened.program);
  EXPECT(status.code == StatusCode::kDevice && status.where == "test");
  EXPECT(contains(status.message, " in test; kernels: elementwise"));
  const Opened measured({.measures_time = true, .width = kWide});
  EXPECT(contains(run(*measured.program).message, " in test: double"));
  EXPECT(is_right(*Opened().program));
}

void steps_are_stopped() {
  Opened opened;
  int32_t cancelled = 1;
  Step before;
  before.call.cancel_flag = &cancelled;
  before.start(*opened.program);
  EXPECT(before.end.get_future().get().code == StatusCode::kCancelled);
  EXPECT(is_right(*opened.program));

  // A step that is already running.
  cancelled = 0;
  Gate gate;
  Step first, second;
  second.call.cancel_flag = &cancelled;
  first.start(*opened.program, gate.hold());
  second.start(*opened.program);
  __atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
  gate.open();
  EXPECT(first.end.get_future().get().ok());
  EXPECT(first.is_all(6.0f));
  EXPECT(second.end.get_future().get().code == StatusCode::kCancelled);

  opened.device->shut_down();
  EXPECT(run(*opened.program).code == StatusCode::kCancelled);
}

void steps_are_encoded_ahead() {
  Opened opened;
  EXPECT(is_right(*opened.program));
  metal_sim_reset_counts();
  Gate gate;
  Step first, second;
  first.start(*opened.program, gate.hold());
  second.start(*opened.program);
  gate.wait_until_held();
  MetalSimCounts counts;
  metal_sim_counts(&counts);
  // The first has not ended yet.
  EXPECT(counts.encoders == 2);
  gate.open();
  for (Step* step : {&first, &second}) {
    EXPECT(step->end.get_future().get().ok());
    EXPECT(step->is_all(6.0f));
  }
}

/** More shapes than cached plans. */
void steps_have_many_shapes() {
  Opened opened;
  for (const uint32_t last : {kMaxRows, 2u}) {
    for (uint32_t rows = 1; rows <= last; ++rows) EXPECT(gives(*opened.program, 6.0f, rows));
  }
}

void commands_are_measured() {
  Opened opened({.measures_time = true});
  EXPECT(is_right(*opened.program));
  EXPECT(opened.program->seconds().size() == 1 && opened.program->seconds()[0] > 0);
}

void a_step_is_one_command_buffer() {
  Opened opened;
  std::vector<PlannedDispatch> planned;
  EXPECT(opened.program->plan_step({1, 0, 1}, &planned).ok());
  metal_sim_reset_counts();
  EXPECT(is_right(*opened.program));
  MetalSimCounts counts;
  metal_sim_counts(&counts);
  EXPECT(counts.command_buffers == 1 && counts.encoders == 1 && counts.waits == 1);
  // One copy in, one copy out.
  EXPECT(counts.dispatches == planned.size() + 2);
  EXPECT(counts.validation_errors == 0);
}

/** A file with a row of ones that does not begin on a page. */
constexpr size_t kRowOffset = 4;
std::string row_file(const std::string& folder) {
  const std::string path = folder + "/row";
  const std::vector<float> row(kWidth + 1, 1.0f);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(row.data()), kRowOffset + kBytes);
  return path;
}

/** As one buffer, and as the pages of the range if the GPU cannot take a buffer of the whole file. */
void files_are_mapped(const std::string& folder) {
  const std::string path = row_file(folder);
  for (const uint32_t refused : {0u, 1u}) {
    std::shared_ptr<Device> device;
    std::shared_ptr<Program> program;
    EXPECT(open(&device).ok());
    metal_sim_fail(kMetalSimNoBuffer, 0, refused);
    Wanted wanted;
    EXPECT(device->map(path, kRowOffset, kBytes, &wanted.addend).ok());
    EXPECT(make_program(*device, &program, wanted).ok());
    EXPECT(gives(*program, 8.0f));
    BufferPtr nothing;
    EXPECT(device->map(path, kRowOffset, 0, &nothing).ok() && nothing->size_bytes() == 0);
  }
  for (const size_t size : {size_t{0}, kBytes}) {
    std::shared_ptr<Device> device;
    BufferPtr buffer;
    EXPECT(open(&device).ok());
    metal_sim_fail(kMetalSimNoBuffer, 0, 2);
    const Status status = device->map(path, kRowOffset, size, &buffer);
    EXPECT(status.code == StatusCode::kOutOfMemory && status.where == path);
  }
  std::shared_ptr<Device> device;
  BufferPtr buffer;
  EXPECT(open(&device).ok());
  const std::string empty = folder + "/empty";
  std::ofstream(empty).flush();
  EXPECT(device->map(empty, 0, 0, &buffer).ok());
  EXPECT(device->map(empty, 0, 1, &buffer).code == StatusCode::kCorruptFile);
  EXPECT(device->map(folder + "/missing", 0, 0, &buffer).code == StatusCode::kFileAccess);
}

void file_shrinks_while_it_is_read(const std::string& folder) {
  const std::string path = row_file(folder);
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  Wanted wanted;
  EXPECT(device->map(path, kRowOffset, kBytes, &wanted.addend).ok());
  EXPECT(make_program(*device, &program, wanted).ok());
  Gate gate;
  Step first, second;
  first.start(*program, gate.hold());
  second.start(*program);
  gate.wait_until_held();
  std::filesystem::resize_file(path, 0);
  gate.open();
  EXPECT(first.end.get_future().get().ok());
  const Status status = second.end.get_future().get();
  EXPECT(status.code == StatusCode::kCorruptFile && status.where == path);
  EXPECT(run(*program).code == StatusCode::kCorruptFile);
  EXPECT(is_right(*Opened().program));
}

/** One row times a 4-bit matrix [out, in] of zeros in groups of 64; with `is_tiled`, on the kernels for many rows in `fast`. */
Status make_product(Device& device, uint32_t out, uint32_t in, bool is_tiled, std::shared_ptr<Program>* program) {
  const size_t code_bytes = size_t{out} * in / 2, scale_bytes = size_t{out} * in / 64 * 2;
  BufferPtr codes, scales, biases;
  const std::vector<uint8_t> zeros(code_bytes, 0);
  EXPECT(device.upload(zeros.data(), code_bytes, "codes", &codes).ok());
  EXPECT(device.upload(zeros.data(), scale_bytes, "scales", &scales).ok());
  EXPECT(device.upload(zeros.data(), scale_bytes, "biases", &biases).ok());
  OpCall call{"linear", "product", {}, std::vector<Binding>(10)};
  for (const char* name : {"rowSet", "gathers", "hasResidual", "residualStride", "hStride", "residualGainType", "hasNorm", "normGainType",
                           "epilogue", "operandStride", "eps", "cap", "weight0.hasClip", "weight0.inputLow", "weight0.inputHigh",
                           "weight0.outputLow", "weight0.outputHigh"}) {
    call.attributes[name] = 0;
  }
  for (const auto& [name, value] : std::vector<std::pair<const char*, double>>{{"in", in},
                                                                               {"weights", 1},
                                                                               {"isFast", is_tiled},
                                                                               {"hasFewRows", !is_tiled},
                                                                               {"xStride", in},
                                                                               {"residualScale", 1},
                                                                               {"weight0.out", out},
                                                                               {"weight0.format", 3},
                                                                               {"weight0.bits", 4},
                                                                               {"weight0.group", 64},
                                                                               {"weight0.scaleType", 1},
                                                                               {"weight0.yStride", out}}) {
    call.attributes[name] = value;
  }
  call.operands[0] = {Binding::Kind::kArena, nullptr, 0, in * sizeof(float), false};
  call.operands[6] = {Binding::Kind::kBuffer, codes, 0, code_bytes, false};
  call.operands[7] = {Binding::Kind::kBuffer, scales, 0, scale_bytes, false};
  call.operands[8] = {Binding::Kind::kBuffer, biases, 0, scale_bytes, false};
  call.operands[9] = {Binding::Kind::kArena, nullptr, in * sizeof(float), out * sizeof(float), true};
  ProgramDescription description;
  description.label = "test";
  description.max_rows = 1;
  description.arena_bytes = (in + out) * sizeof(float);
  Command command;
  if (Status status = lower(call, &command); !status.ok()) return status;
  description.commands = {command};
  return device.create_program(std::move(description), program);
}

/** The main work of a decoding step. */
void weights_are_read_once() {
  constexpr uint32_t kOut = 512, kIn = 2048;
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  EXPECT(make_product(*device, kOut, kIn, false, &program).ok());
  metal_sim_reset_counts();
  EXPECT(run(*program, Step(1, false)).ok());
  MetalSimCounts counts;
  metal_sim_counts(&counts);
  const uint64_t bytes = counts.read_bytes;
  const uint64_t weight = size_t{kOut} * kIn / 2 + 2 * (size_t{kOut} * kIn / 64 * 2);
  std::printf("  read %llu bytes for a weight of %llu\n", static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(weight));
  // Bytes are counted only if every access is checked.
  if (!std::getenv("METAL_SIM_CHECK")) return;
  EXPECT(bytes >= weight);
  // Plus the row and the parameters.
  EXPECT(bytes <= weight * 101 / 100 + kIn * sizeof(float) + 1024);
}

/** The kernel that multiplies tiles on the simulated system; `refused`: index of the library or pipeline whose creation fails. */
std::string tile_kernel(int refused = -1, uint32_t skipped = 0) {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  EXPECT(open(&device).ok());
  if (refused >= 0) metal_sim_fail(refused, skipped, 1);
  EXPECT(make_product(*device, 64, 64, true, &program).ok());
  metal_sim_reset_counts();
  EXPECT(program && run(*program, Step(1, false)).ok());
  char trace[200] = {};
  metal_sim_trace(trace, sizeof trace);
  return std::string(trace).substr(0, std::string(trace).find(' '));
}

void tensor_operations_are_chosen() {
  const char* played = std::getenv("METAL_SIM_MACOS");
  const std::string system = played ? played : "15";
  EXPECT(tile_kernel() == "linear_tile_q4");
  setenv("METAL_SIM_MACOS", "26", 1);
  EXPECT(tile_kernel() == "linear_tensor_q4");
  // After those of the services of a program, a library and two pipelines, the first one is that of the tensor operations.
  EXPECT(tile_kernel(kMetalSimNoLibrary, 1) == "linear_tile_q4");
  EXPECT(tile_kernel(kMetalSimNoPipeline, 2) == "linear_tile_q4");
  setenv("MARKBASE_METAL_TENSOR", "0", 1);
  EXPECT(tile_kernel() == "linear_tile_q4");
  unsetenv("MARKBASE_METAL_TENSOR");
  setenv("METAL_SIM_MACOS", system.c_str(), 1);
}

/** The archive of pipelines in a folder, empty if absent; the folder contains nothing else. */
std::filesystem::path archive_in(const std::filesystem::path& folder) {
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT(entry.path().extension() == ".metalarchive" && found.empty());
    found = entry.path();
  }
  return found;
}

/** Distinguishes successive writes of a file. */
ino_t inode_of(const std::filesystem::path& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

void pipelines_stay_on_disk(const std::string& parent) {
  const std::string folder = parent + "/archives";
  std::filesystem::create_directory(folder);
  setenv("MARKBASE_METAL_CACHE", folder.c_str(), 1);
  // An archive that cannot be written leaves no file; then one that cannot be opened.
  metal_sim_fail(kMetalSimNoArchive, 1, 1);
  EXPECT(is_right(*Opened().program));
  EXPECT(archive_in(folder).empty());
  metal_sim_fail(kMetalSimNoArchive, 0, 1);
  EXPECT(is_right(*Opened().program));
  EXPECT(archive_in(folder).empty());

  EXPECT(is_right(*Opened().program));
  const std::filesystem::path archive = archive_in(folder);
  const ino_t written = inode_of(archive);
  EXPECT(written != 0);
  // Pipelines from the archive are not written again.
  EXPECT(is_right(*Opened().program));
  EXPECT(inode_of(archive_in(folder)) == written);
  // A damaged archive is replaced.
  std::ofstream(archive) << "damaged";
  EXPECT(is_right(*Opened().program));
  EXPECT(inode_of(archive_in(folder)) != written);
  unsetenv("MARKBASE_METAL_CACHE");

  // Without a configured folder, it is in the user's cache folder.
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  std::filesystem::create_directories(parent + "/Library/Caches");
  setenv("HOME", parent.c_str(), 1);
  EXPECT(is_right(*Opened().program));
  EXPECT(!archive_in(parent + "/Library/Caches/markbase").empty());
  setenv("HOME", home.c_str(), 1);
}

void nothing_is_left() {
  MetalSimCounts counts;
  // Queues end on their own threads.
  for (int i = 0; i < 1000; ++i) {
    metal_sim_counts(&counts);
    if (counts.live_objects == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (counts.live_objects != 0) {
    char text[2000] = {};
    metal_sim_live_objects(text, sizeof text);
    std::printf("%s", text);
  }
  EXPECT(counts.live_objects == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: %s FOLDER, an empty one\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  // Results are printed even if a later test ends the process.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  // Compiled kernels come from one cache, whatever HOME is.
  const char* home = std::getenv("HOME");
  setenv("METAL_SIM_CACHE", (std::string(home ? home : "/tmp") + "/.cache/metal-sim").c_str(), 0);
  const auto test = [](const char* name, auto&& body) { markbase::test::test(name, metal_sim_reset, body); };
  test("no device, no queue", opening_fails);
  test("a library does not compile", [] { preparing_fails(kMetalSimNoLibrary, 0, StatusCode::kDevice); });
  test("a kernel is missing", [] { preparing_fails(kMetalSimNoFunction, 0, StatusCode::kDevice, "no such kernel"); });
  test("a pipeline cannot be made", [] {
    for (const uint32_t skip : {0, 1, 2}) preparing_fails(kMetalSimNoPipeline, skip, StatusCode::kDevice);
  });
  test("a pipeline has too few threads", pipeline_has_few_threads);
  test("no memory for a program", [] {
    for (const uint32_t skip : {0, 1, 2, 3}) preparing_fails(kMetalSimNoBuffer, skip, StatusCode::kOutOfMemory);
  });
  test("no memory for a buffer", memory_is_short);
  test("memory is zeroed", memory_is_zeroed);
  test("a command buffer fails", [] { step_fails(kMetalSimCommandBufferFails, StatusCode::kDevice); });
  test("a command buffer takes too long", [] { step_fails(kMetalSimTimeout, StatusCode::kDevice); });
  test("a command buffer runs out of memory", [] { step_fails(kMetalSimOutOfMemory, StatusCode::kOutOfMemory); });
  test("no command buffer", [] { step_fails(kMetalSimNoCommandBuffer, StatusCode::kDevice); });
  test("the GPU is lost", device_is_lost);
  test("a kernel faults", kernel_faults);
  test("steps are stopped", steps_are_stopped);
  test("steps are encoded ahead", steps_are_encoded_ahead);
  test("steps have many shapes", steps_have_many_shapes);
  test("commands are measured", commands_are_measured);
  test("a step is one command buffer", a_step_is_one_command_buffer);
  test("files are mapped", [&] { files_are_mapped(folder); });
  test("a file shrinks while it is read", [&] { file_shrinks_while_it_is_read(folder); });
  test("weights are read once", weights_are_read_once);
  test("tensor operations are chosen", tensor_operations_are_chosen);
  test("pipelines stay on disk", [&] { pipelines_stay_on_disk(folder); });
  test("nothing is left", nothing_is_left);
  return failures;
}
