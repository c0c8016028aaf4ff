// What an errno value means, in English whatever the process's locale is.
#pragma once

namespace railweave {

// Valid until the next call by the same thread. Any thread may call. An unknown value gives "Unknown error N".
// glibc's strerrordesc_np() does the same from 2.32 on; packages run on 2.28.
const char* errno_text(int err);

}  // namespace railweave
