/** Maps callers from the domain to messages: who did something, when and why. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallerSchema } from "../../gen/meguri/access/v1/caller_pb.ts";
import type { Approval, Caller } from "../words/caller.ts";
import { fromInstant } from "./scalars.ts";

/** The message of a caller. Undefined for what Meguri does by itself, such as an expiry. */
export const fromCaller = ({
  service,
  subject,
}: Caller): MessageInitShape<typeof CallerSchema> | undefined =>
  service === "" ? undefined : { service, subject };

/** The message of an approval, or of another act with caller, time and reason. */
export const fromApproval = ({ caller, time, reason }: Approval) => ({
  caller: fromCaller(caller),
  time: fromInstant(time),
  reason,
});
