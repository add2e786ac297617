#include "extract_main.h"

int main(int argc, char** argv) { return tertulia::extract_main(argc > 1 ? argv[1] : ""); }
