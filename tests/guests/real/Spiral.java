// Hot methods that the virtual machine compiles; exceptions out of null and bounds checks, which it takes from faults; threads.
import java.util.stream.IntStream;

public class Spiral {
    static double step(double x, int i) { return Math.sqrt(x * x + i) - x / (1 + i); }

    static int length(String text) { return text.length(); }

    public static void main(String[] arguments) throws Exception {
        double x = 1.5;
        for (int i = 0; i < 2000000; i++) x = step(x, i % 17);
        System.out.println(x);
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try {
                length(i % 10 == 0 ? null : "text");
            } catch (NullPointerException expected) {
                caught++;
            }
        }
        System.out.println(caught);
        double[] results = new double[4];
        Thread[] threads = new Thread[4];
        for (int t = 0; t < 4; t++) {
            int number = t;
            threads[t] = new Thread(() -> {
                double y = number;
                for (int i = 0; i < 100000; i++) y = step(y, i % 13);
                results[number] = y;
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        for (double result : results) System.out.println(result);
        System.out.println(IntStream.range(0, 100000).parallel().filter(i -> i % 7 == 3).count());
        System.exit(5);
    }
}
