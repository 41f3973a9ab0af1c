/** Tests the states of a bulk grant, the rules for changing them, and what follows from them. */
import { describe, expect, test } from "vitest";
import {
  activeStates,
  actorsOf,
  type BulkGrant,
  type BulkGrantState,
  dueAnnouncement,
  finalStates,
  neededApprovals,
  nextStep,
  type Revision,
  type RunCounts,
} from "../../../src/bulk-grants/rules/bulk-grant.ts";
import {
  approve as approveUnder,
  type ChangeRequest,
  campaignPoints,
  cancel,
  endValidation,
  expire,
  finish,
  pause,
  recount,
  reject,
  resume,
  retry,
  start,
  submit,
} from "../../../src/bulk-grants/rules/bulk-grant-changes.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";

const t0 = Date.UTC(2026, 5, 1);
const now = t0 + 1_000;
const states: readonly BulkGrantState[] = [...activeStates, ...finalStates];
const name = { programId: "p", bulkGrantId: "b" };
const desk = { caller: asService("desk"), reason: "checked" };
const boss = { caller: asService("boss"), reason: "" };
const times = { reminderMs: 10_000, expiryMs: 60_000 };

const newRevision: Omit<Revision, "number" | "digest"> = {
  uploadId: "upload-1",
  rowCount: 3,
  totalPoints: 60,
  rowsDigest: "rows-1",
  requiredApprovalCount: 1,
  submitter: asService("staff"),
  submitTime: t0,
};
const revision: Revision = { ...newRevision, number: 1, digest: "digest-1" };

const row = (state: BulkGrantState, more: Partial<BulkGrant> = {}): BulkGrant => ({
  ...name,
  state,
  revision,
  createTime: t0,
  updateTime: t0,
  approvals: [],
  remindTime: t0 + times.reminderMs,
  expireTime: t0 + times.expiryMs,
  run: 0,
  actions: [],
  actionCount: more.actions?.length ?? 0,
  ...more,
});

const action = (of: string, actor: ChangeRequest = desk, number = 1) => ({
  action: of,
  revision: number,
  ...actor,
  time: now,
});
const counts = (more: Partial<RunCounts> = {}): RunCounts => ({
  grantedCount: 3,
  grantedPoints: 60,
  failedCount: 0,
  notRunCount: 0,
  problemCounts: {},
  ...more,
});
const wrongState = (state: string) =>
  expect.objectContaining({ reason: "WRONG_STATE", metadata: { state } });
const refusal = (reason: string) => expect.objectContaining({ reason });

/** Expects that a change is refused in all states but these. */
function refusedExceptIn(
  these: readonly BulkGrantState[],
  change: (row: BulkGrant) => BulkGrant,
): void {
  for (const state of states) {
    if (!these.includes(state)) expect(() => change(row(state))).toThrow(wrongState(state));
  }
}

/** Expects that a change leaves the record as it is in all states but these. */
function sameExceptIn(
  these: readonly BulkGrantState[],
  change: (row: BulkGrant) => BulkGrant,
): void {
  for (const state of states) {
    const before = row(state);
    if (!these.includes(state)) expect(change(before)).toBe(before);
  }
}

test("a state is either active or final", () => {
  expect(activeStates).toEqual(["VALIDATING", "AWAITING_APPROVAL", "APPROVED", "RUNNING"]);
  expect([...finalStates]).toEqual([
    "INVALID",
    "REJECTED",
    "DONE",
    "DONE_WITH_FAILURES",
    "CANCELLED",
  ]);
});

test("the actors are those of the current revision and of the latest actions", () => {
  const starter = asService("mei");
  const submitted = { ...action("SUBMIT", { caller: asService("staff"), reason: "" }), starter };
  const actions = [
    submitted,
    action("APPROVE", boss),
    action("PAUSE", desk),
  ] as BulkGrant["actions"];
  expect(actorsOf(row("APPROVED", { actions }))).toEqual(["staff", "mei", "boss", "desk"]);
  expect(actorsOf(row("DONE", { revision: { ...revision, starter } }))).toEqual(["staff", "mei"]);
});

describe("submit", () => {
  const next = { ...newRevision, uploadId: "upload-2", rowsDigest: "rows-2", submitTime: now };
  const digestOf = (number: number) => `digest-${number}`;
  const submitNext = (
    before: BulkGrant | undefined,
    more: Partial<typeof next> = {},
    replaces?: number,
    earlier?: number,
  ) => submit(before, name, { ...next, ...more }, replaces, earlier, digestOf, times);

  test("the first sheet is revision 1, to be validated", () => {
    expect(submitNext(undefined)).toEqual(
      row("VALIDATING", {
        revision: { ...next, number: 1, digest: "digest-1" },
        createTime: now,
        updateTime: now,
        remindTime: now + times.reminderMs,
        expireTime: now + times.expiryMs,
        actions: [
          {
            action: "SUBMIT",
            revision: 1,
            caller: asService("staff"),
            time: now,
            reason: "",
          } as const,
        ],
      }),
    );
  });

  test.each(["INVALID", "REJECTED", "CANCELLED", "DONE_WITH_FAILURES"] as const)(
    "another sheet for one that is %s is the next revision; only the points are added up",
    (state) => {
      const before = row(state, {
        approvals: [{ ...boss, time: t0 }],
        checked: { invalidCount: 1, alreadyGrantedCount: 1, alreadyGrantedPoints: 5 },
        reminded: true,
        run: 2,
        startTime: t0,
        endTime: t0,
        result: counts({ failedCount: 1 }),
        report: "SENT",
      });
      expect(submitNext(before)).toEqual(
        row("VALIDATING", {
          grantedBefore: counts({ failedCount: 1 }).grantedPoints,
          revision: { ...next, number: 2, digest: "digest-2" },
          updateTime: now,
          remindTime: now + times.reminderMs,
          expireTime: now + times.expiryMs,
          run: 2,
          actions: [
            {
              action: "SUBMIT",
              revision: 2,
              caller: asService("staff"),
              time: now,
              reason: "",
            } as const,
          ],
        }),
      );
    },
  );

  test("another sheet is refused while one is active, and after all rows were granted", () => {
    refusedExceptIn(["INVALID", "REJECTED", "CANCELLED", "DONE_WITH_FAILURES"], (before) =>
      submitNext(before),
    );
  });

  test("the same content is the same revision in every state, by whomever it is sent", () => {
    sameExceptIn([], (before) =>
      submitNext(
        before,
        { rowsDigest: "rows-1", submitter: asService("others"), source: "nightly/a.csv" },
        undefined,
        1,
      ),
    );
  });

  test("the same content that replaces the current revision is the next one", () => {
    const same = { rowsDigest: "rows-1" };
    expect(submitNext(row("INVALID"), same, 1, 1).revision.number).toBe(2);
    expect(() => submitNext(row("DONE"), same, 1, 1)).toThrow(wrongState("DONE"));
  });

  test("a sheet that replaces another revision is refused, unless it is repeated", () => {
    for (const [before, replaces, revision] of [
      [row("REJECTED"), 0, "1"],
      [row("REJECTED"), 2, "1"],
      [undefined, 1, "0"],
    ] as const) {
      expect(() => submitNext(before, {}, replaces)).toThrow(
        expect.objectContaining({ reason: "WRONG_STATE", metadata: { revision } }),
      );
    }
    const second = submitNext(row("REJECTED"), {}, 1);
    expect(submitNext(second, {}, 1, 2)).toBe(second);
  });

  test("the content of a revision that was replaced changes nothing, unless it replaces", () => {
    const second = { ...submitNext(row("REJECTED")), state: "REJECTED" as const };
    const first = { rowsDigest: "rows-1" };
    expect(submitNext(second, first, undefined, 1)).toBe(second);
    expect(submitNext(second, first, 1, 1)).toBe(second);
    expect(submitNext(second, first, 2, 1).revision.number).toBe(3);
  });

  test("another execute_time is another content", () => {
    const more = { rowsDigest: "rows-1", executeTime: now };
    expect(() => submitNext(row("AWAITING_APPROVAL"), more)).toThrow(
      wrongState("AWAITING_APPROVAL"),
    );
    expect(submitNext(row("REJECTED"), more).revision).toMatchObject({
      number: 2,
      executeTime: now,
    });
  });

  test("a grant and a reversal never share an id, even with the same rows", () => {
    const reversal = { ...revision, reversedBulkGrantId: "a" };
    for (const rowsDigest of ["rows-1", "rows-2"]) {
      for (const state of states) {
        const grant = row(state);
        expect(() => submitNext(grant, { reversedBulkGrantId: "a", rowsDigest })).toThrow(
          refusal("ID_REUSED"),
        );
        const reversing = row(state, { revision: reversal });
        expect(() => submitNext(reversing, { rowsDigest })).toThrow(refusal("ID_REUSED"));
        expect(() => submitNext(reversing, { reversedBulkGrantId: "c", rowsDigest })).toThrow(
          refusal("ID_REUSED"),
        );
      }
    }
  });

  test("of the actions the latest 20 are kept", () => {
    const actions = Array.from({ length: 20 }, (_, i) => ({
      ...(action("PAUSE") as BulkGrant["actions"][number]),
      time: i,
    }));
    const { actions: kept, actionCount } = submitNext(row("REJECTED", { actions }));
    expect(actionCount).toBe(21);
    expect(kept).toHaveLength(20);
    expect(kept[0]?.time).toBe(1);
    expect(kept.at(-1)?.action).toBe("SUBMIT");
  });
});

describe("endValidation", () => {
  const valid = { invalidCount: 0, alreadyGrantedCount: 1, alreadyGrantedPoints: 10 };
  const validating = (more: Partial<Revision>) =>
    row("VALIDATING", { revision: { ...revision, ...more } });

  /** Ends the validation of revision 1 with the limits of its submission. */
  const end = (before: BulkGrant, checked = valid) =>
    endValidation(before, 1, checked, () => ({ limits: before.revision }), now);

  test("rows that the sheet leaves out count with the points of all revisions", () => {
    const before = { ...validating({ totalPoints: 100 }), grantedBefore: 30 };
    expect(campaignPoints(before, valid)).toBe(120);
    expect(campaignPoints(before, { ...valid, alreadyGrantedPoints: 30 })).toBe(100);
    expect(campaignPoints(validating({ totalPoints: 100 }), valid)).toBe(100);
  });

  test("limits of all revisions replace those of the submission", () => {
    const limits = { requiredApprovalCount: 2, digest: "digest-2" };
    const tierPoints = { hour: 1, approvalCount: 1, points: 50 };
    const none = { ...validating({ requiredApprovalCount: 0 }), tierPoints };
    const ended = endValidation(none, 1, valid, () => ({ limits }), now);
    expect(ended).toMatchObject({ state: "AWAITING_APPROVAL", revision: limits });
    expect(ended).not.toHaveProperty("tierPoints");
    const capped = { limits: { ...limits, exceededMaxTotalPoints: 50 }, tierPoints };
    const invalid = endValidation(validating({}), 1, valid, () => capped, now);
    expect(invalid).toMatchObject({ state: "INVALID", tierPoints });
  });

  test("a valid sheet awaits its approvals; one that needs none is approved", () => {
    for (const [requiredApprovalCount, state] of [
      [0, "APPROVED"],
      [1, "AWAITING_APPROVAL"],
      [2, "AWAITING_APPROVAL"],
    ] as const) {
      const before = validating({ requiredApprovalCount });
      expect(end(before)).toEqual({
        ...before,
        checked: valid,
        state,
        updateTime: now,
      });
    }
  });

  test("a sheet with a bad row, or above the program's cap, is INVALID, approvals or not", () => {
    for (const requiredApprovalCount of [0, 1]) {
      const bad = { ...valid, invalidCount: 1 };
      expect(end(validating({ requiredApprovalCount }), bad).state).toBe("INVALID");
      const above = validating({ requiredApprovalCount, exceededMaxTotalPoints: 50 });
      expect(end(above).state).toBe("INVALID");
    }
  });

  test("a late end of a validation changes nothing: of another revision, or another state", () => {
    const second = validating({ number: 2 });
    expect(end(second)).toBe(second);
    sameExceptIn(["VALIDATING"], (before) => end(before));
  });
});

describe("approve", () => {
  /** An approval under rules that need no more than those of the submission. */
  const approve = (before: BulkGrant, digest: string, request: ChangeRequest, time: number) =>
    approveUnder(before, digest, request, time, 0);

  const waits = (requiredApprovalCount: number, more: Partial<BulkGrant> = {}) =>
    row("AWAITING_APPROVAL", { revision: { ...revision, requiredApprovalCount }, ...more });

  test("one approval approves what needs one", () => {
    const before = waits(1);
    expect(approve(before, "digest-1", boss, now)).toEqual({
      ...before,
      state: "APPROVED",
      updateTime: now,
      approvals: [{ ...boss, time: now }],
      actions: [action("APPROVE", boss)],
      actionCount: 1,
    });
  });

  test("two approvals are by two people: the same person's second changes nothing", () => {
    const once = approve(waits(2), "digest-1", boss, now);
    expect(once.state).toBe("AWAITING_APPROVAL");
    expect(approve(once, "digest-1", { ...boss, reason: "again" }, now + 1)).toBe(once);
    const twice = approve(once, "digest-1", desk, now);
    expect(twice.state).toBe("APPROVED");
    expect(twice.approvals).toMatchObject([{ caller: boss.caller }, { caller: desk.caller }]);
  });

  test("rules that became stricter while it waited hold, and weaker ones do not", () => {
    const once = approveUnder(waits(1), "digest-1", boss, now, 2);
    expect(once).toMatchObject({ state: "AWAITING_APPROVAL", raisedApprovalCount: 2 });
    expect(once.revision.requiredApprovalCount).toBe(1);
    expect(neededApprovals(once)).toBe(2);
    expect(dueAnnouncement(once)).toBe("WAITING");
    expect(dueAnnouncement({ ...once, announced: "WAITING" })).toBe("RAISED");
    const told = { ...once, announced: "RAISED" as const };
    expect(dueAnnouncement(told)).toBeUndefined();
    expect(dueAnnouncement(approveUnder(told, "digest-1", desk, now, 2))).toBe("APPROVED");
    expect(approveUnder(once, "digest-1", desk, now, 2).state).toBe("APPROVED");
    const lowered = approveUnder(once, "digest-1", desk, now, 0);
    expect(lowered.state).toBe("APPROVED");
    expect(lowered).not.toHaveProperty("raisedApprovalCount");
    expect(approveUnder(waits(2), "digest-1", boss, now, 0).state).toBe("AWAITING_APPROVAL");
  });

  test("the submitter never approves, first or second", () => {
    const own = { caller: asService("staff"), reason: "" };
    expect(() => approve(waits(1), "digest-1", own, now)).toThrow(refusal("SELF_APPROVAL"));
    const once = approve(waits(2), "digest-1", boss, now);
    expect(() => approve(once, "digest-1", own, now)).toThrow(refusal("SELF_APPROVAL"));
  });

  test("who started the run of its source never approves", () => {
    const starter = { service: "temporal", subject: "ann" };
    const before = row("AWAITING_APPROVAL", { revision: { ...revision, starter } });
    const ann = { caller: { service: "desk", subject: "ann" }, reason: "" };
    expect(() => approve(before, "digest-1", ann, now)).toThrow(refusal("SELF_APPROVAL"));
    expect(approve(before, "digest-1", boss, now).state).toBe("APPROVED");
  });

  test("one person through two services is one person", () => {
    const as = (service: string, subject: string) => ({ caller: { service, subject }, reason: "" });
    const submitted = {
      ...revision,
      requiredApprovalCount: 2,
      submitter: as("shop", "ann").caller,
    };
    const before = row("AWAITING_APPROVAL", { revision: submitted });
    expect(() => approve(before, "digest-1", as("desk", "ann"), now)).toThrow(
      refusal("SELF_APPROVAL"),
    );
    const once = approve(before, "digest-1", as("shop", "ben"), now);
    expect(approve(once, "digest-1", as("desk", "ben"), now)).toBe(once);
    expect(approve(once, "digest-1", as("shop", "cho"), now).state).toBe("APPROVED");
  });

  test("another digest is refused in every state, also by an approver and the submitter", () => {
    for (const state of states) {
      const before = row(state, { approvals: [{ ...boss, time: t0 }] });
      for (const caller of ["boss", "desk", "staff"].map(asService)) {
        expect(() => approve(before, "digest-0", { caller, reason: "" }, now)).toThrow(
          expect.objectContaining({ reason: "DIGEST_MISMATCH", metadata: { revision: "1" } }),
        );
      }
    }
  });

  test("it is refused in any other state; repeated by an approver it changes nothing there", () => {
    refusedExceptIn(["AWAITING_APPROVAL"], (before) => approve(before, "digest-1", boss, now));
    for (const state of states) {
      const before = row(state, { approvals: [{ ...boss, time: t0 }] });
      expect(approve(before, "digest-1", boss, now)).toBe(before);
    }
  });
});

describe("people's other changes", () => {
  test("reject: only what awaits approval; REJECTED stays", () => {
    expect(reject(row("AWAITING_APPROVAL"), desk, now)).toEqual(
      row("REJECTED", { updateTime: now, endTime: now, actions: [action("REJECT")] as never }),
    );
    const rejected = row("REJECTED");
    expect(reject(rejected, desk, now)).toBe(rejected);
    refusedExceptIn(["AWAITING_APPROVAL", "REJECTED"], (before) => reject(before, desk, now));
  });

  test("cancel: at once what has not started; CANCELLED stays; nothing that has ended", () => {
    for (const state of ["VALIDATING", "AWAITING_APPROVAL", "APPROVED"] as const) {
      expect(cancel(row(state), desk, now)).toEqual(
        row("CANCELLED", { updateTime: now, endTime: now, actions: [action("CANCEL")] as never }),
      );
    }
    const cancelled = row("CANCELLED");
    expect(cancel(cancelled, desk, now)).toBe(cancelled);
    const stays = [...activeStates, "CANCELLED"] as const;
    refusedExceptIn(stays, (before) => cancel(before, desk, now));
  });

  test("cancel: a running one is requested to stop, once", () => {
    const once = cancel(row("RUNNING", { run: 1 }), desk, now);
    expect(once).toEqual(
      row("RUNNING", {
        run: 1,
        updateTime: now,
        cancelRequest: action("CANCEL") as never,
        actions: [action("CANCEL")] as never,
      }),
    );
    expect(cancel(once, boss, now + 1)).toBe(once);
  });

  test("cancel: a paused one is not paused any more", () => {
    const paused = pause(row("APPROVED"), desk, now);
    const cancelled = cancel(paused, boss, now);
    expect(cancelled.state).toBe("CANCELLED");
    expect(cancelled).not.toHaveProperty("pause");
    expect(() => pause(cancelled, desk, now)).toThrow(wrongState("CANCELLED"));
    expect(resume(cancelled, desk, now)).toBe(cancelled);
  });

  test("pause: what is approved or running, once", () => {
    for (const state of ["APPROVED", "RUNNING"] as const) {
      const once = pause(row(state), desk, now);
      expect(once).toEqual(
        row(state, {
          updateTime: now,
          pause: action("PAUSE") as never,
          actions: [action("PAUSE")] as never,
        }),
      );
      expect(pause(once, boss, now + 1)).toBe(once);
    }
    refusedExceptIn(["APPROVED", "RUNNING"], (before) => pause(before, desk, now));
  });

  test("resume: what is paused; anything else does not change", () => {
    const paused = pause(row("RUNNING"), boss, now);
    expect(resume(paused, desk, now)).toEqual(
      row("RUNNING", {
        updateTime: now,
        actions: [action("PAUSE", boss), action("RESUME")] as never,
      }),
    );
    sameExceptIn([], (before) => resume(before, desk, now));
  });

  test("retry: a new run of DONE_WITH_FAILURES, to be reported again; RUNNING stays", () => {
    const failed = row("DONE_WITH_FAILURES", {
      run: 1,
      startTime: t0,
      endTime: t0,
      result: counts({ failedCount: 1 }),
      failedRowsAt: { name: "nightly/failed/rows.errors.csv" },
      report: "SENT",
    });
    expect(retry(failed, desk, now)).toEqual(
      row("RUNNING", {
        run: 2,
        startTime: t0,
        result: counts({ failedCount: 1 }),
        updateTime: now,
        actions: [action("RETRY")] as never,
      }),
    );
    const running = row("RUNNING", { run: 2 });
    expect(retry(running, desk, now)).toBe(running);
    const these = ["DONE_WITH_FAILURES", "RUNNING"] as const;
    refusedExceptIn(these, (before) => retry(before, desk, now));
  });
});

describe("what time and runs do", () => {
  test("expire: what still awaits approval at its expiry, with or without one of two", () => {
    const at = t0 + times.expiryMs;
    const once = row("AWAITING_APPROVAL", { approvals: [{ ...boss, time: t0 }] });
    expect(expire(once, at - 1)).toBe(once);
    expect(expire(once, at)).toMatchObject({
      state: "CANCELLED",
      endTime: at,
      actions: [{ action: "EXPIRE", caller: asService("meguri"), revision: 1, time: at }],
    });
    sameExceptIn(["AWAITING_APPROVAL"], (before) => expire(before, at));
  });

  test("start: what is approved, not before its execute_time, and not while paused", () => {
    const due = row("APPROVED", { revision: { ...revision, executeTime: now } });
    expect(start(due, now - 1)).toBe(due);
    expect(start(due, now)).toEqual({
      ...due,
      state: "RUNNING",
      run: 1,
      startTime: now,
      updateTime: now,
    });
    expect(start(row("APPROVED", { run: 3 }), t0)).toMatchObject({ state: "RUNNING", run: 4 });
    const paused = pause(row("APPROVED"), desk, now);
    expect(start(paused, now)).toBe(paused);
    sameExceptIn(["APPROVED"], (before) => start(before, now));
  });

  test("finish: DONE, or DONE_WITH_FAILURES when a row has failed", () => {
    const running = row("RUNNING", { run: 2 });
    for (const [failedCount, state] of [
      [0, "DONE"],
      [1, "DONE_WITH_FAILURES"],
    ] as const) {
      const result = counts({ failedCount });
      expect(finish(running, 2, result, now)).toEqual(
        row(state, { run: 2, result, endTime: now, updateTime: now }),
      );
    }
  });

  test("finish: a cancelled run is CANCELLED when rows are left, pause and request gone", () => {
    const paused = pause(row("RUNNING", { run: 1 }), desk, now);
    const stopping = cancel(paused, desk, now);
    for (const [result, state] of [
      [counts({ grantedCount: 1, notRunCount: 2 }), "CANCELLED"],
      [counts({ grantedCount: 1, failedCount: 1, notRunCount: 1 }), "CANCELLED"],
      [counts({ failedCount: 1 }), "DONE_WITH_FAILURES"],
      [counts(), "DONE"],
    ] as const) {
      const { actions } = stopping;
      expect(finish(stopping, 1, result, now)).toEqual(
        row(state, {
          ...{ run: 1, actions, result, endTime: now, updateTime: now },
          ...(state === "CANCELLED" && { countsFinalTime: now + lateEntriesMs }),
        }),
      );
    }
  });

  describe("recount, when the counts of a cancelled run are final,", () => {
    const provisional = row("CANCELLED", {
      ...{ run: 1, result: counts({ grantedCount: 1, notRunCount: 2 }), endTime: t0 },
      ...{ countsFinalTime: now, report: "SENT" as const },
      failedRowsAt: { name: "nightly/failed/rows.errors.csv" },
    });
    const { countsFinalTime: _, ...final } = provisional;

    test("takes them, and lets a count that has grown be reported", () => {
      const { report: __, failedRowsAt: ___, ...unreported } = final;
      const result = counts({ grantedCount: 3 });
      const counted = { ...unreported, result, updateTime: now };
      expect(recount(provisional, 1, result, now)).toEqual(counted);
    });

    test("leaves the report of the same counts as it is", () => {
      const result = counts({ grantedCount: 1, notRunCount: 2 });
      expect(recount(provisional, 1, result, now)).toEqual({ ...final, updateTime: now });
    });

    test("changes nothing too early, of another run, or twice", () => {
      const result = counts({ grantedCount: 3 });
      expect(recount(provisional, 1, result, now - 1)).toBe(provisional);
      expect(recount(provisional, 2, result, now)).toBe(provisional);
      expect(recount(final, 1, result, now)).toBe(final);
      expect(finish(provisional, 1, result, now)).toBe(provisional);
    });
  });

  test("finish: an end of another run, or after the end, changes nothing", () => {
    const running = row("RUNNING", { run: 2 });
    expect(finish(running, 1, counts(), now)).toBe(running);
    sameExceptIn(["RUNNING"], (before) => finish(before, 0, counts(), now));
  });
});

describe("nextStep", () => {
  const paused = { pause: action("PAUSE") as never };
  const stopping = { cancelRequest: action("CANCEL") as never };
  const later = { revision: { ...revision, executeTime: now + 1 } };
  const fromSource = { revision: { ...revision, source: "nightly/a.csv" } };
  const result = { result: counts() };

  test.each([
    ["VALIDATING", {}, "VALIDATE"],
    ["AWAITING_APPROVAL", {}, "AWAIT_APPROVAL"],
    ["APPROVED", {}, "RUN"],
    ["APPROVED", { revision: { ...revision, executeTime: now } }, "RUN"],
    ["APPROVED", later, "AWAIT_TIME"],
    ["APPROVED", { ...later, ...paused }, "PAUSED"],
    ["APPROVED", paused, "PAUSED"],
    ["RUNNING", {}, "RUN"],
    ["RUNNING", paused, "PAUSED"],
    ["RUNNING", stopping, "FINISH"],
    ["RUNNING", { ...paused, ...stopping }, "FINISH"],
    ["REJECTED", {}, "END"],
    ["CANCELLED", {}, "END"],
    ["CANCELLED", fromSource, "END"],
    ["CANCELLED", result, "REPORT"],
    ["CANCELLED", { ...result, countsFinalTime: now }, "REPORT"],
    ["CANCELLED", { ...result, report: "SENT", countsFinalTime: now + 1 }, "END"],
    ["CANCELLED", { ...result, report: "SENT", countsFinalTime: now }, "FINISH"],
    ["INVALID", {}, "END"],
    ["INVALID", fromSource, "REPORT"],
    ["DONE", result, "REPORT"],
    ["DONE", { ...result, report: "SENDING" }, "REPORT"],
    ["DONE", { ...result, report: "SENT" }, "END"],
    ["DONE_WITH_FAILURES", { ...result, report: "FAILED" }, "END"],
  ] as const)("%s with %j: %s", (state, more, step) => {
    expect(nextStep(row(state, more), now)).toBe(step);
  });
});
