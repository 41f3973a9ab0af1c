/** Tests that the fields that the client's types require are those that the server requires. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { requiredFields, requiredFieldsSource } from "../../../tools/dev/required-fields.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { goodParts, goodRequests, type Init } from "../../support/fixtures/good-requests.ts";
import { callRpc, type Rpc, rpcs } from "../../support/servers/any-rpc.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Fields that are refused when they are missing in some requests, by what other fields say. */
const conditional = [
  // An event has owners or a target.
  "NotifyRequest.target_name",
  "RetractEventRequest.target_name",
  // The update mask names it.
  "Program.lifetime_months",
];

/** A request without one field, the path that a refusal of it names, and whether it is required. */
interface Incomplete {
  readonly path: string;
  readonly name: string;
  readonly isRequired: boolean;
  readonly request: Init;
}

/** A good message without each of its fields in turn, also without those of its parts. */
function* incomplete(message: DescMessage, init: Init): Generator<Incomplete> {
  const required = requiredFields(message);
  for (const member of message.members) {
    const { [member.localName]: _, ...request } = init;
    const name = `${message.name}.${member.name}`;
    const isRequired = required.includes(member.localName);
    yield { path: member.name, name, isRequired, request };
    const fields = member.kind === "oneof" ? member.fields : [member];
    for (const field of fields) yield* incompleteParts(field, init);
  }
}

function* incompleteParts(field: DescField, init: Init): Generator<Incomplete> {
  const part = goodParts.get(field.message?.typeName);
  if (!field.message || !part) return;
  for (const { path, request, ...rest } of incomplete(field.message, part)) {
    const isList = field.fieldKind === "list";
    const value = isList ? [request] : request;
    const inOneof = { case: field.localName, value };
    yield {
      ...rest,
      path: `${field.name}${isList ? "[0]" : ""}.${path}`,
      request: { ...init, ...ofField(field, field.oneof ? inOneof : value) },
    };
  }
}

const ofField = ({ oneof, localName }: DescField, value: unknown): Init => ({
  [oneof?.localName ?? localName]: value,
});

/** The fields that the server refuses. */
async function refusedFields(rpc: Rpc, request: Init): Promise<string[]> {
  try {
    await callRpc(rpc, server.handlers, request, { headers: { "meguri-caller": "tests" } });
    return [];
  } catch (error) {
    const requests = ConnectError.from(error).findDetails(BadRequestSchema);
    return requests.flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field));
  }
}

test.each(rpcs)("$name refuses a request without what it requires, and only this", async (rpc) => {
  const all = [...incomplete(rpc.method.input, goodRequests[rpc.method.name] as Init)];
  for (const { path, name, isRequired, request } of all) {
    if (conditional.includes(name)) continue;
    const isRefused = (await refusedFields(rpc, request)).includes(path);
    expect({ path, isRefused }).toEqual({ path, isRefused: isRequired });
  }
});

test("the client has the required fields of this contract", () => {
  const files = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (file.proto.package.startsWith("meguri.")) files.add(file);
    file.dependencies.forEach(visit);
  };
  for (const { file } of services) visit(file);
  const root = join(import.meta.dirname, "..", "..", "..");
  const present = readFileSync(join(root, "packages/client/src/required-fields.ts"), "utf8");
  expect(requiredFieldsSource([...files])).toBe(present);
});
