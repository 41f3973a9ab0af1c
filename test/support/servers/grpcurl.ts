/** Finds or builds grpcurl, a client on grpc-go that learns a server's API by reflection. */
import { join } from "node:path";
import { findOnPath, findTool, installWithGo } from "../../../src/dev/stack/cached-tools.ts";

const VERSION = "v1.9.3";
const GO_PACKAGE = `github.com/fullstorydev/grpcurl/cmd/grpcurl@${VERSION}`;

/**
 * Returns the path of grpcurl: the one on the PATH, or the one in the project's cache folder, where
 * it is built once with Go. Says why and returns undefined where there is no Go either.
 */
export async function findGrpcurl(): Promise<string | undefined> {
  const title = `grpcurl ${VERSION}`;
  try {
    return await findTool(
      {
        command: "grpcurl",
        title,
        folder: `grpcurl-${VERSION}`,
        async fetch(folder, onProgress) {
          if ((await findOnPath("go")) === undefined) throw new NoGo();
          await installWithGo({ title, package: GO_PACKAGE, folder }, onProgress);
          return join(folder, "grpcurl");
        },
      },
      console.error,
    );
  } catch (error) {
    if (!(error instanceof NoGo)) throw error;
    console.error("tests with grpcurl are skipped: there is neither grpcurl nor Go to build it");
    return undefined;
  }
}

class NoGo extends Error {}
