/** Compares the methods that a server serves with those that this command was built with. */
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { CallOptions, Meguri } from "@meguri/client";
import { services as servicesByName } from "../calls.ts";

const services = Object.values(servicesByName);

/** Says which one is newer. Throws CheckFailed if the server lacks a method of this command. */
export async function checkContract(
  reflection: Meguri["reflection"],
  options: CallOptions,
): Promise<string> {
  const served = await servedMethods(reflection, options);
  const own = new Set(
    services.flatMap(({ methods }) =>
      methods.map(({ parent, name }) => `${parent.typeName}.${name}`),
    ),
  );
  const missing = [...own].filter((method) => !served.has(method));
  if (missing.length > 0) {
    throw new CheckFailed(
      `the server is older than this command: it does not serve ${listOf(missing)}`,
      "Update the server, or use the command of the server's version.",
    );
  }
  const more = [...served].filter((method) => !own.has(method));
  if (more.length === 0) return "the server and this command know the same methods";
  return `the server is newer than this command: it also serves ${listOf(more)}`;
}

/** The full names of the methods of Meguri's services, by the server's reflection. */
async function servedMethods(
  reflection: Meguri["reflection"],
  options: CallOptions,
): Promise<Set<string>> {
  async function* requests() {
    yield { messageRequest: { case: "listServices" as const, value: "" } };
    for (const { typeName: value } of services) {
      yield { messageRequest: { case: "fileContainingSymbol" as const, value } };
    }
  }
  const responses = reflection.serverReflectionInfo(requests(), options);
  const names = new Set(services.map(({ typeName }) => typeName));
  /** A file also comes where another one imports it, whose service may be the only one served. */
  const served = new Set<string>();
  const methods = new Set<string>();
  for await (const { messageResponse } of responses) {
    if (messageResponse.case === "listServicesResponse") {
      for (const { name } of messageResponse.value.service) served.add(name);
    }
    if (messageResponse.case !== "fileDescriptorResponse") continue;
    for (const bytes of messageResponse.value.fileDescriptorProto) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      for (const service of file.service) {
        const name = `${file.package}.${service.name}`;
        if (!names.has(name) || !served.has(name)) continue;
        for (const method of service.method) methods.add(`${name}.${method.name}`);
      }
    }
  }
  return methods;
}

/** The first three, and how many more there are. */
function listOf(methods: readonly string[]): string {
  const first = methods.slice(0, 3);
  const others = methods.length - first.length;
  return first.join(", ") + (others > 0 ? ` and ${others} more` : "");
}

/** Says what is wrong, and what to do about it. */
export class CheckFailed extends Error {
  override readonly name = "CheckFailed";
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

export interface Check {
  readonly name: string;
  /** Returns what was found. Throws CheckFailed. */
  run(): Promise<string>;
}

/** No server decides with a clock that is off by more than this. */
export const clockToleranceMs = 5_000;
