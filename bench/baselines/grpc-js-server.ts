/**
 * An experiment: the same handlers behind grpc-js instead of our listener. It does the work of the
 * interceptors, too (caller, rules of the schema, one map of errors, deadline), so that the
 * difference is that of the listeners. Unary calls only; errors without their details.
 */
import {
  create,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { compose } from "../../src/compose.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { holdLedger } from "../../src/holds/rpc/ledger.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { identityKey } from "../../src/platform/edge/context.ts";
import { toConnectError } from "../../src/platform/edge/errors.ts";
import { defaultTimeLimitMs } from "../../src/platform/edge/method-limits.ts";
import { createRequestValidator } from "../../src/platform/edge/validator.ts";
import { InvalidRequest } from "../../src/platform/messages/invalid-request.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { pointsCommands } from "../../src/points/rpc/commands.ts";
import { ledgers } from "../../src/points/rpc/queries.ts";
import { balances } from "../../src/reservations/rpc/balances.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";

type Handler = (request: Message, context: HandlerContext) => Promise<MessageInitShape<never>>;

const config = readConfig(process.env, "server");
const log = createLogger("grpc-js", config.logLevel);
const validator = createRequestValidator();
const { deps } = compose(config, noWorkflows, log);

function serve(method: DescMethodUnary, handler: Handler): handleUnaryCall<Message, Message> {
  return (call, answer) => {
    const start = performance.now();
    const values = createContextValues();
    const caller = asService(String(call.metadata.get("meguri-caller")[0] ?? ""));
    values.set(identityKey, { caller, scopes: "all" });
    const deadline = call.getDeadline();
    const limit = deadline instanceof Date ? deadline.getTime() : deadline;
    const leftMs = Number.isFinite(limit) ? limit - Date.now() : defaultTimeLimitMs;
    const context = { values, method, timeoutMs: () => leftMs } as unknown as HandlerContext;
    let timer: NodeJS.Timeout | undefined;
    const interrupted = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("too late")), leftMs);
    });
    const work = async () => {
      const checked = validator.validate(method.input, call.request);
      if (checked.kind === "invalid") throw new InvalidRequest([]);
      if (checked.kind === "error") throw checked.error;
      return handler(call.request, context);
    };
    Promise.race([work(), interrupted])
      .then(
        (result) => {
          log.debug({ method: method.name, ms: performance.now() - start }, "call");
          answer(null, create(method.output, result));
        },
        (error: unknown) => {
          const { code, rawMessage } = toConnectError(error);
          answer({ code: code as number, details: rawMessage });
        },
      )
      .finally(() => clearTimeout(timer));
  };
}

function add(server: Server, service: DescService, handlers: object): void {
  const methods = service.methods.filter(({ localName }) => localName in handlers);
  const definition = Object.fromEntries(
    methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: Message) => bufferOf(toBinary(method.input, message)),
        requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
        responseSerialize: (message: Message) => bufferOf(toBinary(method.output, message)),
        responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
      },
    ]),
  );
  const implementation: UntypedServiceImplementation = Object.fromEntries(
    methods.map((method) => [
      method.localName,
      serve(method as DescMethodUnary, handlers[method.localName as never]),
    ]),
  );
  server.addService(definition, implementation);
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

const server = new Server();
add(server, PointsService, {
  ...pointsCommands(deps),
  ...ledgers(deps),
  ...holdLedger(deps),
  ...balances(deps),
});
process.once("SIGTERM", () => process.exit(0));
server.bindAsync(`${config.host}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  log.info({ port }, "ready");
});
