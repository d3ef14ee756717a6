// Go: its own threads, stacks, signals and system calls; goroutines, channels, a recovered nil dereference.
package main

import (
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sort"
	"sync"
	"syscall"
)

func recovered(p *int) (caught bool) {
	defer func() { caught = recover() != nil }()
	return *p == 0
}

func main() {
	var wait sync.WaitGroup
	results := make(chan float64, 100)
	for i := 0; i < 100; i++ {
		wait.Add(1)
		go func(n int) {
			defer wait.Done()
			sum := 0.0
			for k := 1; k < 200; k++ {
				sum += math.Sin(float64(n)) / float64(k)
			}
			results <- sum
		}(i)
	}
	wait.Wait()
	close(results)
	var all []float64
	for r := range results {
		all = append(all, r)
	}
	sort.Float64s(all)
	fmt.Println(len(all), all[0], all[99])
	caught := 0
	for i := 0; i < 50; i++ {
		if recovered(nil) {
			caught++
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("caught", caught, <-signals)
	for i := 0; i < 5; i++ {
		_ = make([]byte, 1<<20)
		runtime.GC()
	}
	fmt.Println("collected")
}
