// The two halves of ring algorithms, for a vector laid out in one shard a rank.
#pragma once

#include "collectives/schedule/builder.h"

namespace railweave::collectives {

// Every rank has sent its own shard to the next. Receives the others into the output and sends them on, but for the last.
void ring_hand_on(Builder& builder, const Layout& layout, Form form);

}  // namespace railweave::collectives
