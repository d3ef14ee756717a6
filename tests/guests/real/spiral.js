// Enough repetitions for the compiler of the engine to replace its interpreter, and to give up again when types change.
function step(x, i) { return Math.sqrt(x * x + i) - x / (1 + i); }
let x = 1.5;
for (let i = 0; i < 300000; i++) x = step(x, i % 17);
console.log(x);
console.log(step("2", 3), step({ valueOf: () => 4 }, 5));
for (let i = 0; i < 50000; i++) x = step(x, i % 13);
console.log(x, [3, 1, 2].sort().map((v) => v / 7), JSON.stringify({ a: [0.1 + 0.2, 1e21, -0] }));
const counts = new Map();
for (let i = 0; i < 20000; i++) counts.set(i % 100, (counts.get(i % 100) || 0) + Math.sin(i));
console.log(counts.size, counts.get(42));
process.exit(3);
