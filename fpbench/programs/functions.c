/* What a compiler is given to compile: some functions as programs have them, over and over under other names. NUMBER is replaced. */
struct item_NUMBER {
    struct item_NUMBER *next;
    const char *name;
    long count;
    double weight;
};

static struct item_NUMBER *buckets_NUMBER[64];

static unsigned hash_NUMBER(const char *name)
{
    unsigned h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

struct item_NUMBER *find_NUMBER(const char *name, struct item_NUMBER *spare)
{
    struct item_NUMBER **place = &buckets_NUMBER[hash_NUMBER(name) % 64];
    for (; *place; place = &(*place)->next) {
        const char *a = (*place)->name, *b = name;
        while (*a && *a == *b)
            a++, b++;
        if (*a == *b) {
            (*place)->count++;
            return *place;
        }
    }
    if (spare) {
        spare->next = 0;
        spare->name = name;
        spare->count = 1;
        *place = spare;
    }
    return spare;
}

void sort_NUMBER(double *values, long n)
{
    while (n > 12) {
        double pivot = values[n / 2];
        long i = 0, j = n - 1;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double t = values[i];
            values[i++] = values[j];
            values[j--] = t;
        }
        sort_NUMBER(values + i, n - i);
        n = i;
    }
    for (long i = 1; i < n; i++) {
        double value = values[i];
        long j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static const char *at_NUMBER;

static double sum_NUMBER(void);

static double factor_NUMBER(void)
{
    double value = 0, scale = 1;
    switch (*at_NUMBER) {
    case '(':
        at_NUMBER++;
        value = sum_NUMBER();
        if (*at_NUMBER == ')')
            at_NUMBER++;
        return value;
    case '-':
        at_NUMBER++;
        return -factor_NUMBER();
    case '+':
        at_NUMBER++;
        return factor_NUMBER();
    default:
        while (*at_NUMBER >= '0' && *at_NUMBER <= '9')
            value = value * 10 + (*at_NUMBER++ - '0');
        if (*at_NUMBER == '.')
            for (at_NUMBER++; *at_NUMBER >= '0' && *at_NUMBER <= '9'; at_NUMBER++)
                value += (scale /= 10) * (*at_NUMBER - '0');
        return value;
    }
}

static double product_NUMBER(void)
{
    double value = factor_NUMBER();
    while (*at_NUMBER == '*' || *at_NUMBER == '/') {
        if (*at_NUMBER++ == '*')
            value *= factor_NUMBER();
        else
            value /= factor_NUMBER();
    }
    return value;
}

static double sum_NUMBER(void)
{
    double value = product_NUMBER();
    while (*at_NUMBER == '+' || *at_NUMBER == '-') {
        if (*at_NUMBER++ == '+')
            value += product_NUMBER();
        else
            value -= product_NUMBER();
    }
    return value;
}

double evaluate_NUMBER(const char *text)
{
    at_NUMBER = text;
    return sum_NUMBER();
}

int solve_NUMBER(double *matrix, double *right, int n)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            double a = matrix[i * n + k], b = matrix[best * n + k];
            if ((a < 0 ? -a : a) > (b < 0 ? -b : b))
                best = i;
        }
        if (matrix[best * n + k] == 0)
            return 0;
        for (int j = 0; j < n && best != k; j++) {
            double t = matrix[k * n + j];
            matrix[k * n + j] = matrix[best * n + j];
            matrix[best * n + j] = t;
        }
        double t = right[k];
        right[k] = right[best];
        right[best] = t;
        for (int i = k + 1; i < n; i++) {
            double f = matrix[i * n + k] / matrix[k * n + k];
            for (int j = k; j < n; j++)
                matrix[i * n + j] -= f * matrix[k * n + j];
            right[i] -= f * right[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++)
            right[k] -= matrix[k * n + j] * right[j];
        right[k] /= matrix[k * n + k];
    }
    return 1;
}

unsigned decode_NUMBER(const unsigned char *bytes, int n, unsigned *out)
{
    unsigned count = 0;
    for (int i = 0; i < n;) {
        unsigned char b = bytes[i++];
        int more = b < 0x80 ? 0 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
        unsigned code = more ? b & (0x3f >> more) : b;
        while (more-- && i < n)
            code = code << 6 | (bytes[i++] & 0x3f);
        out[count++] = code;
    }
    return count;
}
