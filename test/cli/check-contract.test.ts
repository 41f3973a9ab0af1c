/** Tests how `meguri doctor` compares the methods of a server with its own. */
import { clone, createFileRegistry, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { checkContract } from "../../packages/cli/src/doctor/check-contract.ts";
import { ServerReflection } from "../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { reflectionService } from "../../src/platform/edge/reflection.ts";
import { createServedSchema } from "../../src/platform/edge/served-schema.ts";
import { services } from "../support/fixtures/descriptors.ts";

/** The answer of the check, or what it found and advises, about a server of these services. */
function check(served: readonly DescService[]): Promise<string> {
  const transport = createRouterTransport((router) =>
    router.service(ServerReflection, reflectionService(createServedSchema(served))),
  );
  const reflection = createClient(ServerReflection, transport);
  return checkContract(reflection, {}).catch(({ message, advice }) => `${message}. ${advice}`);
}

/** The same service with one more method. */
function withMethod(service: DescService, name: string): DescService {
  const proto = clone(FileDescriptorProtoSchema, service.file.proto);
  const methods = proto.service.find((one) => one.name === service.name)?.method ?? [];
  methods.push({ ...methods[0], name } as (typeof methods)[0]);
  const registry = createFileRegistry(proto, (file) =>
    service.file.dependencies.find(({ proto: { name: imported } }) => imported === file),
  );
  return registry.getService(service.typeName) as DescService;
}

test("a server of the same version knows the same methods", async () => {
  expect(await check(services)).toBe("the server and this command know the same methods");
});

test("an older server is refused, with what it lacks", async () => {
  const others = services.filter((service) => service !== PointsService);
  const methods = PointsService.methods.map(({ name }) => `${PointsService.typeName}.${name}`);
  expect(await check(others)).toBe(
    "the server is older than this command: it does not serve " +
      `${methods.slice(0, 3).join(", ")} and ${methods.length - 3} more. ` +
      "Update the server, or use the command of the server's version.",
  );
});

test("a newer server is accepted, with what it has more", async () => {
  const newer = services.map((service) =>
    service === ProgramService ? withMethod(service, "ArchiveProgram") : service,
  );
  expect(await check(newer)).toBe(
    "the server is newer than this command: it also serves " +
      `${ProgramService.typeName}.ArchiveProgram`,
  );
});
