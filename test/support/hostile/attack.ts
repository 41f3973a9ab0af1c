/** Runs one attack in a process of its own, beside the calls of a good client. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Order } from "./attacker.ts";
import type { Experience, GoodClient } from "./good-client.ts";
import type { Probe } from "./probe.ts";
import type { Target } from "./target.ts";

/** How long an attack has to reach its full strength. */
const warmMs = 4_000;

interface Fight {
  /** The good client's calls during the attack. */
  readonly during: Experience;
  readonly probe: Probe;
  /** What the attacker has sent, and how it was answered, with the number of times. */
  readonly sent: Readonly<Record<string, number>>;
}

/** Attacks for a while. The attacker is a service of its own, named after the attack. */
export async function fight(
  target: Target,
  client: GoodClient,
  attack: string,
  ms: number,
): Promise<Fight> {
  await target.probe();
  const child = fork(`${import.meta.dirname}/attacker.ts`);
  try {
    const { port, http1Port } = target;
    const token = await target.tokenOf(attack.replaceAll(/[ ,]/g, "-"));
    child.send({ attack, port, http1Port, token } satisfies Order);
    await sleep(warmMs);
    const during = await client.callFor(ms);
    const probe = await target.probe();
    child.send("stop");
    return { during, probe, sent: await answerOf(child) };
  } finally {
    child.kill("SIGKILL");
  }
}

/** The counts of an attacker. One that has failed fails the test. */
async function answerOf(child: ChildProcess): Promise<Fight["sent"]> {
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`the attacker has ended with ${code}`);
  });
  const [sent] = await Promise.race([once(child, "message"), died]);
  return sent;
}
