/**
 * Passes requests on to a service of the same machine, and prints a line for each: when and from where it came, its address
 * and the status of its response. What machines asked for is counted by these lines.
 */
import { createServer, request } from "node:http";

const [host, port, target] = process.argv.slice(2);

createServer((incoming, response) => {
  const time = Date.now();
  const { method, url, headers } = incoming;
  const from = incoming.socket.remoteAddress;
  const passed = request({ host, port: Number(target), method, path: url, headers }, (answer) => {
    process.stdout.write(`${JSON.stringify({ time, from, url, status: answer.statusCode })}\n`);
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  incoming.pipe(passed);
}).listen(Number(port), host, () => process.stdout.write("ready\n"));
