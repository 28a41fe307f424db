#include "cli/suggest.h"

#include "tasks/nearest_names.h"

namespace natsl::cli {

std::string DidYouMean(const std::string& name, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& near : tasks::NearestNames(name, names)) {
    text += (text.empty() ? "; did you mean " : " or ") + near;
  }
  return text.empty() ? text : text + "?";
}

}  // namespace natsl::cli
