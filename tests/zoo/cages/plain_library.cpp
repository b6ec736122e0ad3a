// Some other shared library.
extern "C" int answer() { return 42; }
