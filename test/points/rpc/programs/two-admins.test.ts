/** Tests through gRPC that two admins of one program do not undo each other's changes. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProgramSchema } from "../../../../src/gen/meguri/programs/v1/program_pb.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

type Changes = MessageInitShape<typeof ProgramSchema>;

let programs = 0;

/** A program of its own for each test, with three months, and rules that nobody has to approve. */
async function createProgram(): Promise<string> {
  const programId = `p-${++programs}`;
  await server.programs.createProgram({
    ...{ programId, timeZone: "UTC", lifetimeMonths: 3 },
    bulkRules: { requiredApprovalCount: 0 },
  });
  return programId;
}

/** What an admin knows of a program, and what it can do. */
function createAdmin(programId: string) {
  let known = create(ProgramSchema, { programId });
  return {
    async read() {
      const { program } = await server.programs.getProgram({ programId });
      known = program as typeof known;
      return known;
    },

    /** Sends all that the admin knows, with its own changes and the etag that it has read. */
    async replace(changes: Changes) {
      const { lifetimeMonths, notices, bulkRules, etag } = known;
      const rest = { ...(notices && { notices }), ...(bulkRules && { bulkRules }) };
      const program = { programId, lifetimeMonths, ...rest, etag, ...changes };
      const updateMask = { paths: ["*"] };
      const answer = await server.programs.updateProgram({ program, updateMask });
      return answer.program;
    },

    /** Sends the named fields alone, without an etag. */
    async change(changes: Changes, ...paths: string[]) {
      const program = { ...changes, programId };
      const answer = await server.programs.updateProgram({ program, updateMask: { paths } });
      return answer.program;
    },
  };
}

const notices = { expiryDays: 7, reservedGrants: true };
const bulkRules = { maxPointsPerRow: 500n, requiredApprovalCount: 0 };

async function twoAdmins() {
  const programId = await createProgram();
  const [one, two] = [createAdmin(programId), createAdmin(programId)];
  expect((await one.read()).etag).toBe((await two.read()).etag);
  return { programId, one, two };
}

describe("two admins", () => {
  test("that send back what they have read: the later one is refused and reads again", async () => {
    const { one, two } = await twoAdmins();
    await one.replace({ notices });
    const before = await dump(server);
    expect(await refusalOf(two.replace({ bulkRules }))).toMatchObject({
      code: "FailedPrecondition",
      reason: "ETAG_MISMATCH",
    });
    expect(await dump(server)).toEqual(before);
    await two.read();
    await two.replace({ bulkRules });
    expect(await one.read()).toMatchObject({ lifetimeMonths: 3, notices, bulkRules });
  });

  test("of whom one lengthens: the other is told of the change, not that it shortens", async () => {
    const { one, two } = await twoAdmins();
    expect(await one.replace({ lifetimeMonths: 6 })).toMatchObject({ lifetimeMonths: 6 });
    expect(await refusalOf(two.replace({ notices }))).toMatchObject({ reason: "ETAG_MISMATCH" });
    await two.read();
    expect(await two.replace({ notices })).toMatchObject({ lifetimeMonths: 6, notices });
  });

  test("that update at the same time: one is accepted, the other ones refused", async () => {
    const programId = await createProgram();
    const admins = Array.from({ length: 8 }, () => createAdmin(programId));
    await Promise.all(admins.map((admin) => admin.read()));
    const updates = admins.map((admin, i) => admin.replace({ notices: { expiryDays: i + 1 } }));
    const results = await Promise.allSettled(updates);
    const accepted = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(accepted).toHaveLength(1);
    expect(await createAdmin(programId).read()).toEqual(accepted[0]);
  });

  test("that name the fields they change: both changes hold", async () => {
    const { one, two } = await twoAdmins();
    await Promise.all([
      one.change({ notices }, "notices"),
      two.change({ bulkRules, lifetimeMonths: 6 }, "bulk_rules", "lifetime_months"),
    ]);
    expect(await one.read()).toMatchObject({ lifetimeMonths: 6, notices, bulkRules });
    // A field of the mask is set to what the request has, also if that is empty.
    await one.change({ notices, bulkRules }, "notices");
    expect((await one.change({}, "notices"))?.notices).toBeUndefined();
    await one.change({ notices }, "notices");
    await two.change({}, "bulk_rules");
    const { bulkRules: rules, ...rest } = await one.read();
    expect(rest).toMatchObject({ lifetimeMonths: 6, notices });
    expect(rules).toMatchObject({
      maxPointsPerRow: 1_000_000_000n,
      requiredApprovalCount: 1,
      tiers: [],
    });
  });
});

describe("an update", () => {
  test("that was sent before and changes nothing is accepted with the etag of then", async () => {
    const { one } = await twoAdmins();
    const updated = await one.replace({ notices });
    const before = await dump(server);
    expect(await one.replace({ notices })).toEqual(updated);
    expect(await dump(server)).toEqual(before);
  });

  test("has to name fields that can change, and no empty lifetime", async () => {
    const admin = createAdmin(await createProgram());
    for (const path of ["time_zone", "create_time", "etag", "notices.expiry_days", ""]) {
      const refusal = await refusalOf(admin.change({ lifetimeMonths: 6 }, path));
      expect(refusal).toMatchObject({ reason: "INVALID_REQUEST", fields: ["update_mask"] });
    }
    const refusal = await refusalOf(admin.change({}, "lifetime_months"));
    expect(refusal).toMatchObject({ fields: ["program.lifetime_months"] });
    expect(await admin.read()).toMatchObject({ lifetimeMonths: 3 });
  });

  test("without a mask names no field that cannot change", async () => {
    const { programId, one } = await twoAdmins();
    const { timeZone, createTime, lifetimeChanges, etag } = await one.read();
    const fixed = { programId, etag, timeZone, createTime, lifetimeChanges };
    const refusal = await refusalOf(
      server.programs.updateProgram({ program: { ...fixed, lifetimeMonths: 6 } }),
    );
    expect(refusal).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: ["program.time_zone", "program.lifetime_changes", "program.create_time"],
    });
    expect(await one.read()).toMatchObject({ etag, lifetimeMonths: 3 });
    // With a mask they are ignored, so that a program that was read can be sent back.
    await one.change({ ...fixed, timeZone: "Asia/Tokyo", lifetimeMonths: 6 }, "*");
    expect(await one.read()).toMatchObject({ timeZone, createTime, lifetimeMonths: 6 });
  });

  test("changes the etag, as a pause does, and grants do not", async () => {
    const { programId, one } = await twoAdmins();
    const { etag } = await one.read();
    await server.points.grantPoints({ programId, userId: "u", eventId: "e", points: 1n });
    expect((await one.read()).etag).toBe(etag);
    await server.reservations.pauseProgramReservations({ programId });
    const paused = await one.read();
    expect(paused.etag).not.toBe(etag);
    expect((await one.change({ notices }))?.etag).not.toBe(paused.etag);
  });
});
