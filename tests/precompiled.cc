// CMake precompiles headers only for targets, and targets have sources.
int main() {}
