// One frame of `railweave top` as text or as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "top/sampler.h"

namespace railweave::top {

// Returns one block for each engine: a heading, then a table of rails. Bytes of names that a terminal could take for
// commands become '?'. `views` may be empty: the text then says so.
std::string frame_text(const std::vector<EngineView>& views);

// Returns one JSON object on one line, without a line's end: `engines`, each with `pid`, `command`, `seconds` (since
// the sample before), `sessions`, `pending`, `oldest_request_age_ns` and `rails`. An engine that did not answer has
// `pid`, `command` and `error`.
std::string frame_json(const std::vector<EngineView>& views);

// Returns the first `rows` - 1 lines of `text`, each cut to `columns`, and a line that tells how many are missing. If
// all lines fit, returns all of them, each cut.
std::string fit_screen(const std::string& text, std::size_t rows, std::size_t columns);

}  // namespace railweave::top
