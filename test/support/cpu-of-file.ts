/** TEMPORARY: CPU of each file. */
import { appendFileSync, readFileSync } from "node:fs";
import { afterAll, expect } from "vitest";

const tick = 10;
function stat(pid: string | number) {
  try {
    const t = readFileSync(`/proc/${pid}/stat`, "utf8");
    const f = t.slice(t.lastIndexOf(")") + 2).split(" ");
    const [u, s, cu, cs] = [f[11], f[12], f[13], f[14]].map(Number) as [
      number,
      number,
      number,
      number,
    ];
    return { own: (u + s) * tick, kids: (cu + cs) * tick };
  } catch {
    return { own: 0, kids: 0 };
  }
}
const read = () => {
  const me = stat("self");
  return {
    node: me.own,
    kids: me.kids,
    java: stat(process.env.JAVA_PID ?? 0).own,
    temporal: stat(process.env.TEMPORAL_PID ?? 0).own,
    at: Date.now(),
  };
};
const a = read();
afterAll(() => {
  const b = read();
  const d = {
    file: expect.getState().testPath,
    node: b.node - a.node,
    kids: b.kids - a.kids,
    java: b.java - a.java,
    temporal: b.temporal - a.temporal,
    wall: b.at - a.at,
  };
  appendFileSync(process.env.CPU_OUT ?? "/tmp/cpu.jsonl", `${JSON.stringify(d)}\n`);
});
