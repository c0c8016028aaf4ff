// Symbolic values of elements: an input element of a rank, or a reduction of such values. Equal expressions have one
// Symbol, so comparing symbols also compares the order of reduction.
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
  // Returns the reduction of `operands`. Sets `complaint` (the result is then no symbol) if an operand is finished, or
  // if a rank's input would enter twice.
  Symbol reduced(std::span<const Symbol> operands, Form form, std::string& complaint);
  Form form(Symbol symbol) const { return nodes_[symbol].form; }
  // Returns true if every rank's input is in the symbol.
  bool complete(Symbol symbol) const { return nodes_[symbol].inputs == std::size_t(ranks_); }
  // Formats ranks as "(0 1) 2"; a finished value is in brackets.
  std::string text(Symbol symbol) const;

 private:
  struct Node {
    Form form = Form::raw;
    std::size_t inputs = 1;
    std::vector<std::uint64_t> ranks;  // bitmap of the ranks whose input is in it
    std::vector<Symbol> operands;
  };
  int ranks_;
  std::vector<Node> nodes_;
  std::map<std::pair<Form, std::vector<Symbol>>, Symbol> known_;
};

}  // namespace railweave::collectives::proof
