/** Tests server reflection by hand, and by the tools that use it: buf curl and grpcurl. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { create, createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { type Client, Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import * as v1 from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { publicInterceptors } from "../../../src/platform/edge/interceptors.ts";
import { reflectionService } from "../../../src/platform/edge/reflection.ts";
import { createServedSchema } from "../../../src/platform/edge/served-schema.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { findGrpcurl } from "../../support/servers/grpcurl.ts";
import { refusalOf, toRefusal } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

const bufPath = "node_modules/.bin/buf";
const servedNames = [...services, Health, v1.ServerReflection, v1alpha.ServerReflection]
  .map(({ typeName }) => typeName)
  .sort();

let server: TestServer;
let sessions: Http2SessionManager;
beforeAll(async () => {
  server = await startServer();
  sessions = new Http2SessionManager(`http://127.0.0.1:${server.port}`);
});
afterAll(async () => {
  sessions.abort();
  await server.stop();
});

const transport = () =>
  createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}`, sessionManager: sessions });

type Question = Exclude<v1.ServerReflectionRequest["messageRequest"], { case: undefined }>;
type Answer = v1.ServerReflectionResponse["messageResponse"];

/** Asks questions over one stream. Both versions have the same fields. */
async function ask(
  version: typeof v1 | typeof v1alpha,
  ...questions: readonly Question[]
): Promise<Answer[]> {
  const client = createClient(version.ServerReflection as typeof v1.ServerReflection, transport());
  async function* requests() {
    for (const messageRequest of questions) yield { host: "here", messageRequest };
  }
  const answers: Answer[] = [];
  for await (const { validHost, originalRequest, messageResponse } of client.serverReflectionInfo(
    requests(),
  )) {
    expect(validHost).toBe("here");
    expect(originalRequest?.messageRequest.case).toBe(questions[answers.length]?.case);
    answers.push(messageResponse);
  }
  return answers;
}

/** The files of an answer. */
function filesOf(answer: Answer | undefined) {
  if (answer?.case !== "fileDescriptorResponse") throw new Error(`no files but ${answer?.case}`);
  const { fileDescriptorProto: files } = answer.value;
  return files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

/** Links the files of an answer. Throws if an import is missing. */
function link(answer: Answer | undefined): FileRegistry {
  const files = filesOf(answer);
  const sorted = new Set<FileDescriptorProto>();
  const add = (name: string | undefined): void => {
    const file = files.find((one) => one.name === name);
    if (file === undefined) throw new Error(`${name} is missing`);
    for (const imported of file.dependency) add(imported);
    sorted.add(file);
  };
  add(files[0]?.name);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...sorted] }));
}

const notFound = { case: "errorResponse", value: { errorCode: Code.NotFound } };
const optionsOfFields = "google.protobuf.FieldOptions";
const fieldRules = 1159;

describe.each([
  ["v1", v1],
  ["v1alpha", v1alpha],
] as const)("reflection %s", (_, version) => {
  test("lists the services, itself included", async () => {
    const [answer] = await ask(version, { case: "listServices", value: "" });
    if (answer?.case !== "listServicesResponse") throw new Error(`${answer?.case}`);
    expect(answer.value.service.map(({ name }) => name)).toEqual(servedNames);
  });

  test("sends a file with all that it imports, and no file twice over a stream", async () => {
    const name = "meguri/points/v1/points_service.proto";
    const [first, second, other] = await ask(
      version,
      { case: "fileByFilename", value: name },
      { case: "fileByFilename", value: name },
      { case: "fileByFilename", value: "meguri/reactions/v1/reaction_service.proto" },
    );
    expect(filesOf(first)[0]?.name).toBe(name);
    const methods = (link(first).getService(PointsService.typeName)?.methods ?? []).map(String);
    expect(methods).toEqual(PointsService.methods.map(String));
    expect(filesOf(second).map((file) => file.name)).toEqual([name]);
    const known = new Set(filesOf(first).map((file) => file.name));
    const more = filesOf(other).map((file) => file.name);
    expect(more).toContain("meguri/reactions/v1/target.proto");
    expect(more.filter((file) => known.has(file))).toEqual([]);
  });

  test.each([
    ["a service", "meguri.points.v1.PointsService", "meguri/points/v1/points_service.proto"],
    [
      "a method",
      "meguri.points.v1.PointsService.UsePoints",
      "meguri/points/v1/points_service.proto",
    ],
    ["a message", "meguri.points.v1.LedgerEntry", "meguri/points/v1/ledger_entry.proto"],
    ["a nested enum", "meguri.points.v1.LedgerEntry.Type", "meguri/points/v1/ledger_entry.proto"],
    ["its value", "meguri.points.v1.LedgerEntry.TYPE_USED", "meguri/points/v1/ledger_entry.proto"],
    ["a field", "meguri.points.v1.LedgerEntry.points", "meguri/points/v1/ledger_entry.proto"],
    ["a type of Google", "google.protobuf.Timestamp", "google/protobuf/timestamp.proto"],
    ["an extension", "buf.validate.field", "buf/validate/validate.proto"],
    ["a detail of errors", "google.rpc.ErrorInfo", "google/rpc/error_details.proto"],
  ])("finds %s", async (_what, value, file) => {
    const [answer] = await ask(version, { case: "fileContainingSymbol", value });
    expect(filesOf(answer)[0]?.name).toBe(file);
  });

  test("finds the extensions of options", async () => {
    const value = { containingType: optionsOfFields, extensionNumber: fieldRules };
    const [file, numbers, none] = await ask(
      version,
      { case: "fileContainingExtension", value: create(v1.ExtensionRequestSchema, value) },
      { case: "allExtensionNumbersOfType", value: optionsOfFields },
      { case: "allExtensionNumbersOfType", value: "google.protobuf.Timestamp" },
    );
    expect(filesOf(file)[0]?.name).toBe("buf/validate/validate.proto");
    expect(numbers?.value).toMatchObject({ baseTypeName: optionsOfFields });
    expect(numbers?.value).toHaveProperty("extensionNumber", expect.arrayContaining([fieldRules]));
    expect(none?.value).toMatchObject({ extensionNumber: [] });
  });

  test("answers NOT_FOUND for what is not there, and goes on", async () => {
    const value = { containingType: optionsOfFields, extensionNumber: 1 };
    const answers = await ask(
      version,
      { case: "fileByFilename", value: "meguri/points/v1/nothing.proto" },
      { case: "fileContainingSymbol", value: "meguri.points.v1.Nothing" },
      { case: "fileContainingExtension", value: create(v1.ExtensionRequestSchema, value) },
      { case: "allExtensionNumbersOfType", value: PointsService.typeName },
    );
    for (const answer of answers) expect(answer).toMatchObject(notFound);
    expect(answers).toHaveLength(4);
  });
});

/** Opens a stream that sends these requests and waits for its end. Returns what ends it. */
function hold(
  client: Client<typeof v1.ServerReflection>,
  ...questions: readonly Question[]
): { answered: Promise<void>; ended: Promise<unknown> } {
  const answered = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  async function* requests() {
    for (const messageRequest of questions) yield { messageRequest };
    await closed.promise;
  }
  const ended = (async () => {
    for await (const _ of client.serverReflectionInfo(requests())) answered.resolve();
    return "no error";
  })()
    .catch((error: unknown) => error)
    .finally(closed.resolve);
  return { answered: answered.promise, ended };
}

describe("a stream of reflection", () => {
  const listServices: Question = { case: "listServices", value: "" };

  test("ends when a request asks for nothing", async () => {
    const client = createClient(v1.ServerReflection, transport());
    async function* requests() {
      yield {};
    }
    const stream = client.serverReflectionInfo(requests())[Symbol.asyncIterator]();
    expect(await refusalOf(stream.next())).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: ["message_request"],
    });
  });

  test("ends when its client sends nothing for long", async () => {
    const schema = createServedSchema([PointsService]);
    const hasty = createRouterTransport(({ service }) => {
      const interceptors = publicInterceptors();
      service(v1.ServerReflection, reflectionService(schema, 50), { interceptors });
    });
    const { answered, ended } = hold(createClient(v1.ServerReflection, hasty), listServices);
    await answered;
    expect(toRefusal(await ended).reason).toBe("DEADLINE");
  });

  test("is open until the server closes, and does not hold up the drain", async () => {
    const { tablePrefix } = server.config;
    const env = { MEGURI_DRAIN_SECONDS: "10" };
    const draining = await startServer({ tablePrefix, env });
    const baseUrl = `http://127.0.0.1:${draining.port}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const client = createClient(
      v1.ServerReflection,
      createGrpcTransport({ baseUrl, sessionManager }),
    );
    const { answered, ended } = hold(client, listServices);
    await answered;
    await draining.server.drain();
    expect(toRefusal(await ended)).toMatchObject({ reason: "DRAINING", retries: true });
    sessionManager.abort();
    await draining.stop();
  });
});

const run = promisify(execFile);

/** Runs a command. Returns its output, of a failed one also what it says of the failure. */
async function output(command: string, ...args: string[]): Promise<string> {
  try {
    return (await run(command, args)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `FAILED\n${stdout}${stderr}`;
  }
}

const caller = ["-H", "meguri-caller: tools"];

test("buf curl needs no schema", async () => {
  const { port } = server;
  const curl = (...args: string[]) =>
    output(bufPath, "curl", "--http2-prior-knowledge", "--protocol", "grpc", ...args);
  const baseUrl = `http://127.0.0.1:${port}`;
  expect((await curl("--list-services", baseUrl)).trim().split("\n")).toEqual(servedNames);
  expect(await curl("--list-methods", baseUrl)).toContain(
    "meguri.points.v1.PointsService/UsePoints",
  );
  const grant = '{"user_id": "buf", "event_id": "e", "points": 5}';
  const granted = await curl(
    ...caller,
    "-d",
    grant,
    `${baseUrl}/${PointsService.typeName}/GrantPoints`,
  );
  expect(JSON.parse(granted)).toMatchObject({ availablePoints: "5" });
});

describe("grpcurl", () => {
  let grpcurl: string | undefined;
  beforeAll(async () => {
    grpcurl = await findGrpcurl();
  }, 600_000);
  beforeEach(({ skip }) => skip(grpcurl === undefined, "there is no grpcurl"));

  const address = () => `127.0.0.1:${server.port}`;
  const call = (...args: string[]) => output(grpcurl as string, "-plaintext", ...args);
  const points = (method: string, request: object) =>
    call(
      "-use-reflection",
      ...caller,
      "-d",
      JSON.stringify(request),
      address(),
      `${PointsService.typeName}/${method}`,
    );

  test("lists and describes", async () => {
    expect((await call(address(), "list")).trim().split("\n")).toEqual(servedNames);
    const described = await call(address(), "describe", "meguri.points.v1.UsePointsRequest.points");
    expect(described).toContain("int64 points");
    expect(described).toContain("buf.validate.field");
  });

  test("calls, and shows the details of errors", async () => {
    const granted = await points("GrantPoints", { user_id: "go", event_id: "e", points: 5 });
    expect(JSON.parse(granted)).toMatchObject({ availablePoints: "5" });
    const refused = await points("UsePoints", { user_id: "go", event_id: "u", points: 6 });
    expect(refused).toContain("Code: FailedPrecondition");
    expect(refused).toContain('"reason": "INSUFFICIENT_POINTS"');
  });

  test("checks and watches the health without a caller", async () => {
    const check = await call(address(), "grpc.health.v1.Health/Check");
    expect(JSON.parse(check)).toEqual({ status: "SERVING" });
    const method = "grpc.health.v1.Health/Watch";
    const watching = spawn(grpcurl as string, ["-plaintext", address(), method]);
    let watched = "";
    for await (const chunk of watching.stdout) {
      watched += chunk;
      if (watched.endsWith("}\n")) break;
    }
    expect(JSON.parse(watched)).toEqual({ status: "SERVING" });
    watching.kill();
    await once(watching, "exit");
  });
});
