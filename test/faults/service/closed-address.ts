import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Host and port on which nothing listens until the end of the test: the port belongs to a connection of this process,
 * so that no other program can take it.
 */
export async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  await once(socket, "connect");
  return `127.0.0.1:${socket.localPort}`;
}
