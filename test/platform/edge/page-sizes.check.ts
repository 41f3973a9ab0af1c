/** Tests page sizes in every list: those above the maximum count as the maximum. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ListProgramsRequestSchema } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { requestedPage } from "../../../src/platform/messages/page-tokens.ts";
import { submitLines } from "../../support/fixtures/bulk-grant-calls.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { at } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const largest = 2_147_483_647;

describe("a requested page", () => {
  const request = (pageSize: number) => create(ListProgramsRequestSchema, { pageSize });
  const sizeOf = (pageSize: number, maximum?: number) =>
    requestedPage(ListProgramsRequestSchema, request(pageSize), maximum).page.size;

  test.each([
    [0, 50],
    [1, 1],
    [199, 199],
    [200, 200],
    [201, 200],
    [largest, 200],
  ])("of %i has up to %i items", (pageSize, size) => {
    expect(sizeOf(pageSize)).toBe(size);
  });

  test("has the list's own maximum, also by default", () => {
    expect([0, 99, 100, 101, largest].map((size) => sizeOf(size, 100))).toEqual([
      50, 99, 100, 100, 100,
    ]);
    expect([0, 9, 10].map((size) => sizeOf(size, 9))).toEqual([9, 9, 9]);
  });

  test("has the same token for every size", () => {
    const tokens = [0, 1, 200, 201, largest].map((pageSize) =>
      requestedPage(ListProgramsRequestSchema, request(pageSize)).next({ cursor: "c" }),
    );
    expect(new Set(tokens).size).toBe(1);
  });
});

describe("through gRPC", () => {
  const rows = Array.from({ length: 201 }, (_, i) => `r${i}`);
  const userId = "u";
  const ownerId = "o";
  const targetOf = (id: string) => ({ type: "post", id });
  const target = targetOf("r0");
  const executeTime = at("2029-01-01T00:00:00Z");

  let server: MemoryServer;
  beforeAll(async () => {
    server = await startMemoryServer();
    const { points, programs, reactions, reservations, holds } = server;
    // Not all at once, because a store that is busy for seconds counts as unavailable.
    const limit = pLimit(20);
    const forEachRow = (call: (id: string) => Promise<unknown>) => limit.map(rows, call);
    await forEachRow((programId) => programs.createProgram({ programId }));
    await forEachRow((eventId) => points.grantPoints({ userId, eventId, points: 1n }));
    await forEachRow((reservationId) =>
      reservations.createReservation({ reservationId, userId, points: 1n, executeTime }),
    );
    const sheetLines = rows.map((id) => `${id},1,`);
    await submitLines(server, { bulkGrantId: "sheet" }, ...sheetLines);
    for (const bulkGrantId of rows) await submitLines(server, { bulkGrantId }, `${bulkGrantId},1,`);
    await forEachRow((id) => reactions.registerTarget({ targetName: targetOf(id), ownerId }));
    await forEachRow((id) =>
      reactions.react({ targetName: targetOf(id), userId, displayName: "U" }),
    );
    const until = timestampFromMs(Date.now() + 3_600_000);
    await forEachRow((holdId) => holds.holdPoints({ userId, holdId, points: 1n, until }));
    // These come last, so that the notification about `target` is the latest.
    await forEachRow((id) => reactions.react({ targetName: target, userId: id, displayName: id }));
  });
  afterAll(() => server.stop());

  type Page = { readonly pageSize: number };
  type Response = { readonly nextPageToken: string };

  /** One page of each list; those of few rows have a test of their own. */
  const lists: Record<string, (page: Page) => Promise<Response>> = {
    ListPrograms: (page) => server.programs.listPrograms(page),
    async ListRulesChanges(page) {
      const change = { programId: "default", bulkRules: { requiredApprovalCount: 2 } };
      await server.programs.updateProgram({ program: change });
      return server.programs.listRulesChanges({ ...page, programId: "default" });
    },
    async ListActs(page) {
      const account = { userId: "acted" };
      await server.points.grantPoints({ ...account, eventId: "g", points: 1n });
      await server.points.freezeAccount({ ...account, eventId: "f" });
      await server.points.unfreezeAccount({ ...account, eventId: "u" });
      return server.acts.listActs({ ...page, createTimeFrom: at("2020-01-01T00:00:00Z") });
    },
    ListLedgerEntries: (page) => server.points.listLedgerEntries({ ...page, userId }),
    async ListProgramVerifications(page) {
      await server.points.verifyProgram({ jobId: "v" });
      return server.points.listProgramVerifications(page);
    },
    async ListLedgerExports(page) {
      const createTimeBefore = at("2020-01-01T00:00:00Z");
      await server.points.exportLedger({ jobId: "e", destination: "audit", createTimeBefore });
      return server.points.listLedgerExports(page);
    },
    async ListLiabilityReports(page) {
      await server.points.createLiabilityReport({ jobId: "r" });
      return server.points.listLiabilityReports(page);
    },
    ListReservations: (page) =>
      server.reservations.listReservations({ ...page, filter: { case: "userId", value: userId } }),
    ListHolds: (page) => server.holds.listHolds({ ...page, userId }),
    ListTargetReactions: (page) =>
      server.reactions.listTargetReactions({ ...page, targetName: target }),
    ListUserReactions: (page) => server.reactions.listUserReactions({ ...page, userId }),
    ListNotifications: (page) => server.notifications.listNotifications({ ...page, ownerId }),
    async ListNotificationActors(page) {
      const { notifications } = await server.notifications.listNotifications({ ownerId });
      const [latest] = notifications;
      const notificationId = latest?.notificationId ?? "";
      return server.notifications.listNotificationActors({ ...page, ownerId, notificationId });
    },
    async ListMutedPeople(page) {
      for (const muted of ["a", "b"]) {
        await server.notifications.setPersonMuted({ ownerId, userId: muted, muted: true });
      }
      return server.notifications.listMutedPeople({ ...page, ownerId });
    },
    async ListMutedTargets(page) {
      await server.notifications.setTargetMuted({ ownerId, targetName: target, muted: true });
      return server.notifications.listMutedTargets({ ...page, ownerId });
    },
    ListBulkGrants: (page) => server.bulkGrants.listBulkGrants(page),
    ListBulkGrantRows: (page) =>
      server.bulkGrants.listBulkGrantRows({ ...page, bulkGrantId: "sheet" }),
    ListBulkGrantActions: (page) =>
      server.bulkGrants.listBulkGrantActions({ ...page, bulkGrantId: "sheet" }),
    ListBulkGrantRevisions: (page) =>
      server.bulkGrants.listBulkGrantRevisions({ ...page, bulkGrantId: "sheet" }),
  };

  const lengthOf = (response: Response) => Object.values(response).find(Array.isArray)?.length;

  test("every method with a page_size is tested", () => {
    const paged = services.flatMap(({ methods }) =>
      methods.filter(({ input }) => input.fields.some(({ name }) => name === "page_size")),
    );
    // ReadEvents, which has no page_token, is tested in test/events/rpc/read-events.test.ts.
    const tested = [...Object.keys(lists), "ReadEvents"];
    expect(tested.sort()).toEqual(paged.map(({ name }) => name).sort());
  });

  test.each([
    ["ListPrograms", 200],
    ["ListLedgerEntries", 200],
    ["ListReservations", 200],
    ["ListHolds", 200],
    ["ListTargetReactions", 200],
    ["ListUserReactions", 200],
    ["ListNotifications", 100],
    ["ListNotificationActors", 200],
    ["ListBulkGrants", 200],
    ["ListBulkGrantRows", 200],
  ])("%s answers up to %i rows, whatever is requested", async (name, maximum) => {
    for (const pageSize of [maximum, maximum + 1, 1_000_000, largest]) {
      const response = await lists[name]?.({ pageSize });
      expect(response && lengthOf(response), `${pageSize}`).toBe(maximum);
      expect(response?.nextPageToken).not.toBe("");
    }
  });

  test.each([
    ["ListMutedPeople", 2],
    ["ListMutedTargets", 1],
    ["ListRulesChanges", 1],
    ["ListBulkGrantActions", 1],
    ["ListBulkGrantRevisions", 1],
  ])("%s, which has few rows, takes any page_size", async (name, length) => {
    for (const pageSize of [200, 1_000_000, largest]) {
      const response = await lists[name]?.({ pageSize });
      expect(response && lengthOf(response)).toBe(length);
    }
  });
});
