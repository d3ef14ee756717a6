/* A library to load and unload. NUMBER tells one build from another; everything else is the same, also the layout. */
static __thread int own = NUMBER;
static double table[512] = {NUMBER};

double plugin_value(double x)
{
    own++;
    return table[0] * x + own;
}

int plugin_number(void) { return NUMBER; }
int plugin_reset(void) { return own = NUMBER; }
