// What runs leave behind and a later command reads again.
#include "evaluators/journal.h"
#include "evaluators/response_codec.h"
#include "reports/gate.h"
#include "reports/latency_json.h"
#include "reports/read_record.h"
#include "reports/run_folder.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {
namespace {

using namespace evaluators;

template <typename Result>
void ReadAll(Journal& journal, RequestKind kind) {
  journal.ForEach(kind, [](int64_t, std::string_view bytes) {
    Refusable([&] {
      Result result;
      Decode(bytes, result);
    });
  });
}

template <typename Result>
void DecodeAgain(std::string_view bytes) {
  Refusable([&] {
    Result result;
    Decode(bytes, result);
    Result again;
    Decode(Encode(result), again);
  });
}

}  // namespace

void FuzzJournal(std::string_view input) {
  const std::filesystem::path folder =
      ScratchFile(std::string("journal/") + Journal::kFileName, input).parent_path();
  for (const char* ending : {"-wal", "-shm", "-journal"}) {
    std::filesystem::remove(folder / (std::string(Journal::kFileName) + ending));
  }
  Refusable([&] {
    Journal journal(folder);
    Refusable([&] { journal.Note("options"); });
    Refusable([&] { journal.ReadIdentity("run"); });
    Refusable([&] { journal.Count(); });
    Refusable([&] {
      ReadAll<model_adapters::LoglikelihoodResult>(journal, RequestKind::kLoglikelihood);
    });
    Refusable([&] { ReadAll<model_adapters::RollingResult>(journal, RequestKind::kRolling); });
    Refusable([&] { ReadAll<model_adapters::GenerateResult>(journal, RequestKind::kGenerate); });
    Refusable([&] { journal.Append(RequestKind::kLoglikelihood, {{0, "x"}}); });
  });
}

void FuzzStoredAnswer(std::string_view input) {
  DecodeAgain<model_adapters::LoglikelihoodResult>(input);
  DecodeAgain<model_adapters::RollingResult>(input);
  DecodeAgain<model_adapters::GenerateResult>(input);
}

void FuzzResults(std::string_view input) {
  const std::vector<std::string_view> parts = Parts(input, 3);
  const std::filesystem::path folder = ScratchFile("run/results.json", parts[0]).parent_path();
  ScratchFile("run/timings.json", parts[1]);
  if (parts[1].empty()) std::filesystem::remove(folder / "timings.json");
  ScratchFile("run/samples_piqa.jsonl", parts[2]);
  Refusable([&] { reports::ReadReportedRun(folder); });
  Refusable([&] { reports::ReadRunFolder(folder); });
}

void FuzzLatency(std::string_view input) {
  const std::filesystem::path file = ScratchFile("latency.json", input);
  Refusable([&] { reports::LatencyJson(reports::ReadLatencyJson(file)); });
}

void FuzzGate(std::string_view input) {
  const std::filesystem::path file = ScratchFile("gate.json", input);
  Refusable([&] {
    reports::StoredRun run;
    reports::ApplyGate(reports::ReadGate(file), run, run, {});
  });
}

}  // namespace natsl::fuzz
