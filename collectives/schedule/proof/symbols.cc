#include "collectives/schedule/proof/symbols.h"

namespace railweave::collectives::proof {

Symbols::Symbols(int ranks) : ranks_(ranks), nodes_(std::size_t(ranks)) {
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    nodes_[rank].ranks.resize((nodes_.size() + 63) / 64, 0);
    nodes_[rank].ranks[rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
}

Symbol Symbols::reduced(std::span<const Symbol> operands, Form form, std::string& complaint) {
  const auto [known, fresh] = known_.try_emplace({form, {operands.begin(), operands.end()}}, Symbol(nodes_.size()));
  if (!fresh) return known->second;
  Node node;
  node.form = form;
  node.inputs = 0;
  node.ranks.resize(nodes_[0].ranks.size(), 0);
  node.operands = known->first.second;
  for (const Symbol symbol : operands) {
    const Node& operand = nodes_[symbol];
    if (operand.form == Form::result) complaint = "a finished result, " + text(symbol) + ", is reduced again";
    for (std::size_t w = 0; w < node.ranks.size(); ++w) {
      if (node.ranks[w] & operand.ranks[w])
        complaint = "an input is reduced twice: " + text(symbol) + " and what is before it";
      node.ranks[w] |= operand.ranks[w];
    }
    node.inputs += operand.inputs;
  }
  nodes_.push_back(std::move(node));
  return known->second;
}

std::string Symbols::text(Symbol symbol) const {
  const Node& node = nodes_[symbol];
  if (node.operands.empty()) return std::to_string(symbol);
  std::string all;
  for (const Symbol operand : node.operands) all += (all.empty() ? "" : " ") + text(operand);
  return node.form == Form::result ? "[" + all + "]" : "(" + all + ")";
}

}  // namespace railweave::collectives::proof
