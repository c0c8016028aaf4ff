// What an element is, as an expression: an input element of a rank, or a reduction of such. Equal expressions have one
// Symbol, so that comparing results compares the order in which they were reduced.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace railweave::collectives::proof {

using Symbol = std::uint32_t;

class Symbols {
 public:
  explicit Symbols(int ranks);
  Symbol raw(int rank) const { return Symbol(rank); }
  // `complaint` is set and the result is no symbol if an operand is finished or a rank's input would be in it twice.
  Symbol reduced(std::span<const Symbol> operands, Form form, std::string& complaint);
  Form form(Symbol symbol) const { return nodes_[symbol].form; }
  // Every rank's input is in it.
  bool complete(Symbol symbol) const { return nodes_[symbol].inputs == std::size_t(ranks_); }
  // "(0 1) 2": of ranks; a finished one in brackets.
  std::string text(Symbol symbol) const;

 private:
  struct Node {
    Form form = Form::raw;
    std::size_t inputs = 1;
    std::vector<std::uint64_t> ranks;  // bits
    std::vector<Symbol> operands;
  };
  int ranks_;
  std::vector<Node> nodes_;
  std::map<std::pair<Form, std::vector<Symbol>>, Symbol> known_;
};

}  // namespace railweave::collectives::proof
