/** The web server of the example: the page, tokens for it, and the comments of its people. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createMeguri } from "@meguri/client";
import { rolldown } from "rolldown";
import { createComments, nameOf } from "./comments.ts";
import { createSigner, tokenLifetime } from "./tokens.ts";

interface FeedOptions {
  /** The port to listen on, on loopback. */
  readonly port: number;
  /** Meguri as this server reaches it: its HTTP/2 port. */
  readonly meguriUrl: string;
  /** Meguri as browsers reach it. Its MEGURI_CORS_ORIGINS has the origin of this server. */
  readonly browserUrl: string;
  /** The private key that signs tokens, as PEM. */
  readonly privateKey: string;
}

type Content = readonly [type: string, text: string];

/** Starts the server, with a post that people can comment on. Returns a function that stops it. */
export async function startFeed(options: FeedOptions): Promise<() => Promise<void>> {
  const { browserUrl } = options;
  const signer = createSigner(options.privateKey);
  const meguri = createMeguri({ url: options.meguriUrl, token: signer.serviceToken });
  const comments = createComments(meguri);
  await comments.publishPost();
  const script = await bundle("main.ts");

  async function answer(method: string, { pathname, searchParams }: URL): Promise<Content> {
    const personId = searchParams.get("person") ?? "";
    const [, place, id = ""] = pathname.split("/");
    switch (`${method} /${place}`) {
      case "GET /":
        return ["text/html", await readFile(fileOf("index.html"), "utf8")];
      case "GET /style.css":
        return ["text/css", await readFile(fileOf("style.css"), "utf8")];
      case "GET /feed.js":
        return ["text/javascript", script];
      case "GET /session": {
        const session = { name: nameOf(personId), meguriUrl: browserUrl, tokenLifetime };
        const token = await signer.tokenOf(personId);
        return ["application/json", JSON.stringify({ ...session, token })];
      }
      case "POST /comments":
        await comments.add(id, personId);
        return ["text/plain", "added"];
      case "DELETE /comments":
        await comments.remove(id, personId);
        return ["text/plain", "removed"];
      default:
        throw new Error("there is nothing but the page of notifications");
    }
  }

  const server = createServer(async (request, response) => {
    try {
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      const [type, text] = await answer(request.method ?? "", url);
      response.setHeader("content-security-policy", contentPolicy(browserUrl));
      response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(text);
    } catch (error) {
      const { message } = error as Error;
      response.writeHead(400, { "content-type": "text/plain; charset=utf-8" }).end(message);
    }
  });
  server.listen(options.port, "127.0.0.1");
  await once(server, "listening");
  return async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    meguri.close();
  };
}

const fileOf = (name: string) => `${import.meta.dirname}/page/${name}`;

/** The page's own script and style, and calls of Meguri: nothing else runs or loads in the page. */
const contentPolicy = (meguriUrl: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${meguriUrl}`;

/** Makes one script of a module of the page and all that it imports. */
async function bundle(name: string): Promise<string> {
  await using build = await rolldown({ input: fileOf(name), platform: "browser" });
  const { output } = await build.generate({ minify: true });
  return output[0].code;
}
