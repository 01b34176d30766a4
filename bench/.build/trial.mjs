// measure.ts
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

// trial.ts
var [name = "", size = "0", runs = "5"] = process.argv.slice(2);
async function trialOf(wanted) {
  if (wanted.startsWith("asl")) return (await import("./asl-PMSIWH74.mjs")).ASL_TRIALS[wanted];
  if (wanted.startsWith("xstate")) return (await import("./raw-xstate-U4GRRAVL.mjs")).XSTATE_TRIALS[wanted];
  return (await import("./product-L7IEGZ44.mjs")).PRODUCT_TRIALS[wanted];
}
var run = await (await trialOf(name)).prepare(Number(size));
var idleMb = process.memoryUsage().rss / 2 ** 20;
var times = [];
for (let count = 0; count < Number(runs); count += 1) {
  const begun = performance.now();
  await run();
  times.push(performance.now() - begun);
}
var [coldMs = Number.NaN, ...later] = times;
var result = { coldMs, warmMs: median(later), idleMb, peakMb: process.resourceUsage().maxRSS / 1024 };
process.stdout.write(JSON.stringify(result));
process.exit(0);
