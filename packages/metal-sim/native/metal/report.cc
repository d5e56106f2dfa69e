#include "report.h"

#include <cstdio>
#include <cstdlib>

namespace metal_sim {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + '"';
}

std::string number(const char* name, uint64_t value) { return quoted(name) + ":" + std::to_string(value); }

template <typename Item, typename Describe>
std::string list(const char* name, const std::vector<Item>& items, Describe describe) {
  std::string out = quoted(name) + ":[";
  for (const Item& item : items) out += (&item == items.data() ? "{" : ",{") + describe(item) + "}";
  return out + "]";
}

std::string describe_loads(const msl::ArgumentLoads& loads) {
  return "\"argument\":" + quoted(loads.argument) + ",\"buffer\":" + quoted(loads.buffer) + "," + number("bytes", loads.bytes);
}

std::string describe_dispatch(const ReportedDispatch& dispatch) {
  std::string groups;
  for (const unsigned count : dispatch.groups) groups += (groups.empty() ? "" : ",") + std::to_string(count);
  return "\"kernel\":" + quoted(dispatch.kernel) + ",\"groups\":[" + groups + "]," + number("threads", dispatch.threads) +
         ",\"hasBarrier\":" + (dispatch.has_barrier ? "true" : "false") + "," + list("loads", dispatch.loads, describe_loads);
}

std::string describe_reads(const ReportedReads& reads) { return "\"buffer\":" + quoted(reads.buffer) + "," + number("bytes", reads.bytes); }

}  // namespace

void CommandBufferReport::add_reads(const std::string& buffer, uint64_t bytes) {
  for (ReportedReads& known : reads) {
    if (known.buffer != buffer) continue;
    known.bytes += bytes;
    return;
  }
  reads.push_back({buffer, bytes});
}

void write_report(const CommandBufferReport& report) {
  const char* path = std::getenv("METAL_SIM_REPORT");
  if (!path) return;
  const std::string line = "{\"label\":" + quoted(report.label) + "," + number("encoders", report.encoders) + "," +
                           number("barriers", report.barriers) + "," + number("waits", report.waits) + "," +
                           list("dispatches", report.dispatches, describe_dispatch) + "," + list("reads", report.reads, describe_reads) +
                           "}\n";
  if (FILE* file = std::fopen(path, "a")) {
    std::fwrite(line.data(), 1, line.size(), file);
    std::fclose(file);
  }
}

}  // namespace metal_sim
