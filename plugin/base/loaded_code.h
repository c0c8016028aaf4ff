// Keeps this library's code in memory for good, for threads that nobody joins: they may run its code after dlclose().
// Threads: any.
#pragma once

namespace railweave {

// Has no effect where the code is part of the program, which stays loaded anyway. Never fails.
void keep_code_loaded();

}  // namespace railweave
