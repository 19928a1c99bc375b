#include "tests/recon/support.h"
int main(void){return 0;}
