/** Requests to runs that may have ended. */
import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from "@temporalio/client";

/** `google.rpc.Code`: a run whose cancellation was requested before, by another request. */
const alreadyExists = 6;

/** Waits for a request to a run. One that has ended or is cancelled needs no request. */
export async function unlessEnded(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return;
    if (error instanceof WorkflowExecutionAlreadyStartedError) return;
    if (isGrpcServiceError(error) && error.code === alreadyExists) return;
    throw error;
  }
}
