#define NUMBER 0
