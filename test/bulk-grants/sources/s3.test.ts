/** Tests S3 as a source, with the SDK against a server that speaks S3's REST API. */
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createBulkSources } from "../../../src/bulk-grants/sources/bulk-sources.ts";
import { createObjectSource } from "../../../src/bulk-grants/sources/objects.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { sheetOfErrors } from "../../support/fixtures/sheets.ts";
import { type S3Server, startS3Server } from "../../support/servers/s3-server.ts";

const unused = () => {
  throw new Error("no source of this test");
};
const adapters = {
  folder: createObjectSource,
  s3: createObjectSource,
  drive: unused,
  sheet: unused,
};
const header = "user_id,points,reason\n";

let s3: S3Server;
beforeEach(async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  s3 = await startS3Server("campaigns", 3);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await s3.stop();
});

const definition = (endpoint: string | undefined) => ({
  name: "jobs",
  identity: "nightly-batch",
  programs: ["cafe"],
  type: "s3" as const,
  bucket: "campaigns",
  prefix: "in/",
  region: "ap-northeast-1",
  ...(endpoint !== undefined && { endpoint, force_path_style: true }),
});

const sources = () => createBulkSources([definition(s3.endpoint)], adapters);

/** The new files of all pages. */
const newFiles = () => allItems(({ cursor }) => sources().listNew("jobs", cursor));

const contentOf = async (source: string) => text((await sources().open(source, "cafe")).csv);

describe("an object", () => {
  test("is read under the identity of its source", async () => {
    const csv = header + "u-1,5,x\n".repeat(100_000);
    s3.put("in/2026/November 1.csv", csv);
    const opened = await sources().open("jobs/2026/November 1.csv", "cafe");
    expect(opened.identity).toBe("nightly-batch");
    expect(await text(opened.csv)).toBe(csv);
  });

  test("that does not exist is refused", async () => {
    s3.put("rows.csv", header);
    for (const path of ["rows.csv", "../rows.csv", "/rows.csv", "a//b.csv", "./rows.csv"]) {
      await expect(sources().open(`jobs/${path}`, "cafe")).rejects.toMatchObject({
        reason: "INVALID_REQUEST",
      });
    }
  });

  test("is read whole or fails", async () => {
    s3.put("in/rows.csv", header.repeat(1_000));
    const { csv } = await sources().open("jobs/rows.csv", "cafe");
    s3.failNext("CUT_OFF");
    await expect(text(csv)).rejects.toThrow();
  });

  test("is read although S3 asks for fewer requests and a connection breaks", async () => {
    s3.put("in/rows.csv", header);
    s3.failNext("SLOW_DOWN", "RESET");
    expect(await contentOf("jobs/rows.csv")).toBe(header);
  });

  test("that is replaced before it is read is not read", async () => {
    s3.put("in/rows.csv", header);
    s3.beforeNext("GET", () => s3.put("in/rows.csv", `${header}u-1,5,x\n`));
    await expect(contentOf("jobs/rows.csv")).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  });

  test("has the address of its folder, on AWS, and its own when it is moved", async () => {
    vi.stubEnv("AWS_ENDPOINT_URL_S3", s3.endpoint);
    const aws = createBulkSources([{ ...definition(undefined), force_path_style: true }], adapters);
    for (const key of ["in/rows.csv", "in/a b/rows.csv"]) s3.put(key, header);
    const addressOf = (kind: string, key: string) =>
      `https://console.aws.amazon.com/s3/${kind}/campaigns?region=ap-northeast-1&prefix=${key}`;
    const urlOf = async (source: string) => (await aws.open(source, "cafe")).url;
    expect(await urlOf("jobs/rows.csv")).toBe(addressOf("buckets", "in%2F"));
    expect(await urlOf("jobs/a b/rows.csv")).toBe(addressOf("buckets", "in%2Fa+b%2F"));
    expect((await sources().open("jobs/rows.csv", "cafe")).url).toBeUndefined();
    expect(await aws.move("jobs/rows.csv", "done")).toEqual({
      name: "jobs/done/rows.csv",
      url: addressOf("object", "in%2Fdone%2Frows.csv"),
    });
    expect(await aws.writeErrors({ source: "jobs/rows.csv" }, sheetOfErrors([]))).toEqual({
      name: "jobs/failed/rows.errors.csv",
      url: addressOf("object", "in%2Ffailed%2Frows.errors.csv"),
    });
  });
});

describe("errors", () => {
  test("are beside the object, and are no new one", async () => {
    s3.put("in/rows.csv", header);
    for (const row of ["u-1", "u-2"]) {
      const place = await sources().writeErrors({ source: "jobs/rows.csv" }, sheetOfErrors([row]));
      expect(place).toEqual({ name: "jobs/failed/rows.errors.csv" });
    }
    await sources().move("jobs/rows.csv", "failed");
    expect([...s3.objects.keys()]).toEqual(["in/failed/rows.errors.csv", "in/failed/rows.csv"]);
    expect(s3.objects.get("in/failed/rows.errors.csv")?.toString()).toContain("u-2");
    expect(await newFiles()).toEqual([]);
  });

  test("that are dropped again leave their name to the next ones", async () => {
    s3.put("in/rows.errors.csv", "corrected");
    const place = await sources().move("jobs/rows.errors.csv", "failed");
    expect(place).toEqual({ name: "jobs/failed/rows.errors-2.csv" });
    const errors = sheetOfErrors(["u-1"]);
    const next = await sources().writeErrors({ source: "jobs/rows.errors.csv" }, errors);
    expect(next).toEqual({ name: "jobs/failed/rows.errors.errors.csv" });
  });

  test("of paths that lead out of the prefix stay below it", async () => {
    for (const path of ["../rows.csv", "../../failed/rows.csv", "/rows.csv"]) {
      await sources().writeErrors({ source: `jobs/${path}` }, sheetOfErrors([]));
    }
    for (const key of s3.objects.keys()) expect(key).toMatch(/^in\/failed\/[^/]+$/);
  });
});

describe("a pick-up", () => {
  test("lists the CSV objects directly below the prefix, over all pages", async () => {
    for (const name of ["a.csv", "b.CSV", "c.csv", "d & <e>.csv", "f.csv"]) {
      s3.put(`in/${name}`, header + name);
    }
    for (const key of ["in/", "in/x.tmp", "in/.x.csv", "in/done/x.csv", "in/y/x.csv", "x.csv"]) {
      s3.put(key, header);
    }
    const files = await newFiles();
    expect(files.map(({ source }) => source.replace(/#.*/, ""))).toEqual([
      "jobs/a.csv",
      "jobs/b.CSV",
      "jobs/c.csv",
      "jobs/d & <e>.csv",
      "jobs/f.csv",
    ]);
    expect(files.map(({ bulkGrantId }) => bulkGrantId.replace(/[0-9a-f]{12}$/, ""))).toEqual([
      "a",
      "b",
      "c",
      "d & <e>",
      "f",
    ]);
  });

  test("from a bucket that does not exist fails, but not as a refusal", async () => {
    const wrong = { ...definition(s3.endpoint), bucket: "campaign" };
    const error = await createBulkSources([wrong], adapters)
      .listNew("jobs")
      .catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: "NoSuchBucket" });
  });

  test("lists 100 objects at a time, and then those behind them", async () => {
    const large = await startS3Server("campaigns");
    onTestFinished(() => large.stop());
    const { listNew } = createBulkSources([definition(large.endpoint)], adapters);
    for (let number = 0; number < 103; number += 1) large.put(`in/${number}.csv`, header);
    for (const key of [...large.objects.keys()].slice(0, 50)) large.put(`${key}.txt`, header);
    expect((await listNew("jobs")).items.length).toBeLessThan(100);
    const found = await allItems(({ cursor }) => listNew("jobs", cursor));
    expect(new Set(found.map(({ source }) => source)).size).toBe(103);
  });

  test("moves what it has read, and nothing that came later under the same name", async () => {
    s3.put("in/rows.csv", header);
    const [file] = await newFiles();
    const source = file?.source ?? "";
    expect(await contentOf(source)).toBe(header);
    s3.put("in/rows.csv", `${header}u-1,5,x\n`);
    await sources().move(source, "done");
    expect([...s3.objects.keys()]).toEqual(["in/rows.csv"]);
    await expect(sources().open(source, "cafe")).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });

    const [later] = await newFiles();
    await sources().move(later?.source ?? "", "failed");
    expect([...s3.objects.keys()]).toEqual(["in/failed/rows.csv"]);
  });

  test("leaves an object that is replaced while it is moved", async () => {
    s3.put("in/rows.csv", header);
    const [file] = await newFiles();
    s3.beforeNext("DELETE", () => s3.put("in/rows.csv", "new"));
    await sources().move(file?.source ?? "", "done");
    expect(s3.objects.get("in/rows.csv")?.toString()).toBe("new");
    expect(s3.objects.get("in/done/rows.csv")?.toString()).toBe(header);
  });

  test("moves one object once, although two pick-ups do it at the same time", async () => {
    s3.put("in/朝 rows.csv", header);
    const [file] = await newFiles();
    const move = () => sources().move(file?.source ?? "", "done");
    await Promise.all([move(), move(), move()]);
    await move();
    expect([...s3.objects.keys()]).toEqual(["in/done/朝 rows.csv"]);
  });

  test("keeps the content of an object that was moved before", async () => {
    for (const content of ["first", "second", "second", "third"]) {
      s3.put("in/rows.csv", content);
      const [file] = await newFiles();
      await sources().move(file?.source ?? "", "done");
    }
    const moved = [...s3.objects].map(([key, content]) => `${key} ${content}`);
    expect(moved).toEqual([
      "in/done/rows.csv first",
      "in/done/rows-2.csv second",
      "in/done/rows-3.csv third",
    ]);
  });
});
