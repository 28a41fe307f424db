#include "model_adapters/native/grow_state.h"

#include <algorithm>

#include "kernels/common.h"

namespace natsl::model_adapters::native {
namespace {

using kernels::kPageTokens;

// A page of its own: shared ones would stay in the cache, which a long context doesn't.
KvPageRef CopyOf(const KvPage& page) {
  auto copy = std::make_shared<KvPage>();
  copy->storage = page.storage.clone();
  copy->keys = copy->storage.data_ptr<float>();
  copy->values = copy->keys + (page.values - page.keys);
  return copy;
}

void GrowAttention(const AttentionSpec& spec, int64_t added_pages, PageList& list) {
  if (spec.window && list.keys + 1 >= *spec.window) {
    // All that the next token sees is here: it only moves on.
    list.first_key += added_pages * kPageTokens;
    return;
  }
  const auto whole = static_cast<size_t>(list.keys / kPageTokens);
  const size_t total = whole + static_cast<size_t>(added_pages);
  const int64_t hidden =
      spec.window ? std::max<int64_t>(0, list.keys + added_pages * kPageTokens + 1 - *spec.window) /
                        kPageTokens
                  : 0;
  const int64_t drop = std::min(hidden, static_cast<int64_t>(total));
  std::vector<KvPageRef> pages;
  for (size_t i = static_cast<size_t>(drop); i < total; ++i) {
    pages.push_back(i < whole ? list.pages[i] : CopyOf(*list.pages[i % whole]));
  }
  pages.insert(pages.end(), list.pages.begin() + static_cast<std::ptrdiff_t>(whole),
               list.pages.end());
  list.pages = std::move(pages);
  list.keys += (added_pages - drop) * kPageTokens;
  list.first_key += drop * kPageTokens;
}

void GrowKept(int64_t chunks, int64_t added_chunks, PageList& list) {
  const auto kept = static_cast<int64_t>(list.pages.size());
  const int64_t more = (kept * added_chunks + chunks / 2) / chunks;
  for (int64_t i = 0; i < more; ++i) {
    list.pages.push_back(CopyOf(*list.pages[static_cast<size_t>(i % kept)]));
  }
  list.keys += more * kPageTokens;
}

}  // namespace

bool GrowState(const ModelSpec& spec, int64_t length, SequenceState& state) {
  const int64_t added = length - state.length, chunks = state.length / kPageTokens;
  if (added < 0 || added % kPageTokens != 0 || chunks == 0) return false;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    for (PageList& list : state.layers[i].kv) {
      if (const auto* attention = std::get_if<AttentionSpec>(&spec.layers[i].mixer)) {
        GrowAttention(*attention, added / kPageTokens, list);
      } else {
        GrowKept(chunks, added / kPageTokens, list);
      }
    }
  }
  state.length = length;
  return true;
}

}  // namespace natsl::model_adapters::native
