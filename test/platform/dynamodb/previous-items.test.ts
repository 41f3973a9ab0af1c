/**
 * Puts the stored items of the previous version into tables, and compares what this version answers
 * about them with the recorded answers of that version; a new field of an answer is no difference,
 * and neither are other words for people.
 * On a commit that is to be the next previous version, record its files and answers:
 * `TEST_RECORD_PREVIOUS=1 npm test -- test/platform/dynamodb/previous-items.test.ts`, and name this
 * commit in tools/dev/releases.ts.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { previousCommit } from "../../../tools/dev/releases.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { answerTo, putItems, setTime } from "../../support/previous/ask.ts";
import { listFiles, previousFiles } from "../../support/previous/files.ts";
import { parseItems } from "../../support/previous/parse-items.ts";
import { type Question, questions } from "../../support/previous/questions.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { textOf } from "../../support/stored-items/text.ts";

const answersFile = `${import.meta.dirname}/../../previous/answers.jsonl`;
const isRecording = process.env.TEST_RECORD_PREVIOUS !== undefined;

/** A question after a step, at a time of the test clock, and its answer: a line of the file. */
interface Answered extends Question {
  readonly step: string;
  readonly time: string;
  readonly answer: JsonValue;
}

/** The real time of the items, so that nothing of them has expired whenever the test runs. */
const realTime = Date.UTC(2026, 6, 22, 3);

let proxy: DynamoProxy;
let server: TestServer;
beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  proxy.dateSkew(realTime - Date.now());
  server = await startServer({ dynamoEndpoint: proxy.endpoint });
});
afterAll(async () => {
  await server.stop();
  await proxy.stop();
});

const storedText = (): string =>
  String(previousFiles().files.get("test/platform/dynamodb/stored-items.txt"));

/** Stores the items step by step, and asks the questions that belong behind a step. */
async function askAll(questions: readonly Omit<Answered, "answer">[]): Promise<Answered[]> {
  const items = parseItems(storedText());
  const answered: Answered[] = [];
  let from = 0;
  for (const [step, asked] of Map.groupBy(questions, (question) => question.step)) {
    const to = items.findLastIndex((item) => item.step === step) + 1;
    expect(to, step).toBeGreaterThan(from);
    await putItems(server, items.slice(from, to));
    from = to;
    await setTime(server, (asked[0] as Answered).time);
    answered.push(
      ...(await Promise.all(
        asked.map(async (each) => ({ ...each, answer: await answerTo(server, each) })),
      )),
    );
  }
  return answered;
}

/** The fields with texts for people, whose words may change with every release (decision 95). */
const words: readonly string[] = ["details", "warnings", "lines"];

const withoutWords = (answered: readonly Answered[]): Answered[] =>
  JSON.parse(JSON.stringify(answered, (key, value) => (words.includes(key) ? undefined : value)));

describe("the previous version", () => {
  test.runIf(isRecording)("is this commit", async () => {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
    listFiles(commit);
    const lines = (await askAll(questions)).map((answered) => JSON.stringify(answered));
    writeFileSync(answersFile, `${lines.join("\n")}\n`);
  });

  test.skipIf(isRecording)("has its items and histories here", () => {
    const { commit, files } = previousFiles();
    expect(commit).toBe(previousCommit);
    expect([...files.keys()].filter((path) => path.endsWith(".history.json"))).not.toEqual([]);
  });

  test("has stored items whose text is read without a loss", () => {
    expect(textOf(parseItems(storedText()))).toBe(storedText());
  });

  test.skipIf(isRecording)("answered about its items what this version answers", async () => {
    const lines = readFileSync(answersFile, "utf8").trimEnd().split("\n");
    const recorded: Answered[] = lines.map((line) => JSON.parse(line));
    expect(withoutWords(await askAll(recorded))).toMatchObject(withoutWords(recorded));
  });
});
