/** Tests that acts alone say what programs and accounts are, whatever was called and failed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Act } from "../../../src/acts/rules/act.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { accountRef, programRef, ruleChangeRef } from "../../../src/points/ports/records.ts";
import { changeableValues, type Program } from "../../../src/points/rules/program.ts";
import {
  freezeAccount,
  grantPoints,
  unfreezeAccount,
} from "../../../src/points/use-cases/commands.ts";
import { createProgram, updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import {
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../../src/reservations/use-cases/pause.ts";
import { unattended } from "../../support/fixtures/bulk-rules.ts";
import { type Fault, type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const caller = asService("ops");
const users = ["a", "b"];

/** A call, the process that makes it, and what happens to its first transaction. */
const step = fc.record({
  call: fc.oneof(
    fc.record({ lifetimeMonths: fc.integer({ min: 1, max: 36 }) }),
    fc.record({
      notices: fc.record({
        expiryDays: fc.integer({ min: 0, max: 27 }),
        reservedGrants: fc.boolean(),
      }),
    }),
    fc.record({ shards: fc.constantFrom(16, 64, 256) }),
    fc.record({ paused: fc.boolean() }),
    fc.record({ userId: fc.constantFrom(...users), frozen: fc.boolean() }),
  ),
  another: fc.boolean(),
  fault: fc.option(fc.constantFrom<Fault>("conflict", "lost before", "lost after")),
  isRepeated: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function send({ deps: own, process }: MemoryDeps, { call, another }: Step, id: string) {
  const deps = another ? process() : own;
  const audit = { caller, via: "CALL", method: "Any", requestId: id } as const;
  const common = { programId, caller, reason: "", audit };
  if ("frozen" in call) {
    const change = call.frozen ? freezeAccount : unfreezeAccount;
    return change(deps, { ...common, userId: call.userId, eventId: id });
  }
  if ("paused" in call)
    return (call.paused ? pauseProgramReservations : resumeProgramReservations)(deps, common);
  if ("shards" in call)
    return updateProgram(deps, { ...common, reservationShardCount: call.shards });
  return updateProgram(deps, { ...common, rules: call });
}

test("acts say one value after the other, and the last ones are those stored", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const memory = memoryDeps();
      const { deps, store, clock } = memory;
      const name = { programId, timeZone: "UTC", lifetimeMonths: 12 };
      const { program: created } = await createProgram(deps, name);
      store.force(ruleChangeRef(programId), unattended);
      for (const userId of users) {
        const event = { programId, userId, eventId: "g", points: 1, reason: "", caller };
        await grantPoints(deps, event);
      }
      const known = await valuesOf(memory, created);
      let plan: (Fault | undefined)[] = [];
      store.arriving = ({ op }) => (op === "commit" ? plan.shift() : undefined);
      for (const [i, each] of steps.entries()) {
        clock.time += 1_000;
        plan = [each.fault ?? undefined];
        for (let times = each.isRepeated ? 2 : 1; times > 0; times--) {
          await send(memory, each, `r${i}`).catch((error: unknown) => {
            if (!(error instanceof DomainError)) throw error;
          });
        }
      }
      const acts = store
        .stored()
        .flatMap(({ ref, value }) => (ref.kind === "act" ? [value as Act] : []))
        .toSorted((a, b) => a.time - b.time);
      for (const { objectId, changes } of acts) {
        for (const { field, before, after } of changes) {
          const value = `${objectId} ${field}`;
          if (!known.has(value)) continue;
          expect(before, value).toBe(known.get(value));
          known.set(value, after);
        }
      }
      const stored = await deps.reader.get(programRef(programId));
      expect(known).toEqual(await valuesOf(memory, stored?.value as Program));
    }),
    { numRuns: 150 },
  );
});

/** The values that acts are about, by object and field. */
async function valuesOf({ deps }: MemoryDeps, program: Program): Promise<Map<string, string>> {
  const values = new Map(
    Object.entries(changeableValues(program)).map(([field, value]) => [
      `${programId} ${field}`,
      String(value),
    ]),
  );
  for (const userId of users) {
    const account = await deps.reader.get(accountRef(programId, userId));
    values.set(`${userId} frozen`, String(account?.value.frozen));
  }
  return values;
}
