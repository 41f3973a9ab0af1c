/** Finds or builds grpcurl, a client on grpc-go that learns a server's API by reflection. */
import { join } from "node:path";
import {
  findTool,
  installWithGo,
  type Progress,
  ToolMissing,
} from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";

const version = "1.9.3";

/**
 * Returns the path of grpcurl, which is built once with Go. Says why and returns undefined where
 * there is no Go either.
 */
export async function findGrpcurl(): Promise<string | undefined> {
  try {
    return await findTool(
      {
        command: "grpcurl",
        title: "grpcurl",
        version,
        versionArgs: ["-version"],
        folder: `grpcurl-v${version}`,
        fetch: build,
      },
      sayOnce,
    );
  } catch (error) {
    if (!(error instanceof ToolMissing)) throw error;
    sayOnce(`tests with grpcurl are skipped: to build it, ${error.message}`);
    return undefined;
  }
}

async function build(folder: string, onProgress: Progress): Promise<string> {
  const goPackage = {
    title: `grpcurl ${version}`,
    package: `github.com/fullstorydev/grpcurl/cmd/grpcurl@v${version}`,
    duration: "some minutes",
  };
  await installWithGo(goPackage, folder, onProgress);
  return join(folder, "grpcurl");
}
