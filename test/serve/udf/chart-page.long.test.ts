import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { BARS_1D } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { openBrowser, openPage } from "../../ui/open-browser.js";
import { landedBar, landReference, landRows, listed, serveForTest } from "../served-lake.js";

const LIBRARY = new URL(
  "../../../node_modules/lightweight-charts/dist/lightweight-charts.standalone.production.js",
  import.meta.url,
);

/** A chart page, as a reader of the protocol writes it: the datafeed is its only argument. */
const PAGE = `<!doctype html><title>chart</title><div id="chart" style="width:640px;height:360px"></div>
<script src="/library.js"></script>
<script type="module">
  const feed = new URLSearchParams(location.search).get("feed");
  const ask = async (path) => (await fetch(feed + path)).json();
  const { supported_resolutions } = await ask("/config");
  const [found] = await ask("/search?query=600000");
  const { description, pricescale } = await ask("/symbols?symbol=" + found.symbol);
  const { t, o, h, l, c } = await ask("/history?symbol=" + found.symbol + "&resolution=1D&from=0&to=1800000000&countback=300");
  const marks = await ask("/marks?symbol=" + found.symbol + "&resolution=1D&from=0&to=1800000000");
  const chart = LightweightCharts.createChart(document.getElementById("chart"));
  const precision = Math.log10(pricescale);
  const series = chart.addSeries(LightweightCharts.CandlestickSeries, { title: description, priceFormat: { precision, minMove: 1 / pricescale } });
  series.setData(t.map((time, i) => ({ time, open: o[i], high: h[i], low: l[i], close: c[i] })));
  LightweightCharts.createSeriesMarkers(series, marks.time.map((time, i) => ({ time, text: marks.label[i], color: marks.color[i], position: "aboveBar", shape: "circle" })));
  chart.timeScale().fitContent();
  window.shown = { resolutions: supported_resolutions.length, bars: series.data().length, marks: marks.time.length };
</script>`;

test("a page with an open-source chart library runs on a lake, in a browser", async () => {
  const library = await readFile(LIBRARY);
  const server = createServer((request, response) => {
    const isLibrary = request.url === "/library.js";
    response.setHeader("content-type", isLibrary ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isLibrary ? library : PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { service } = await serveForTest(
    async (lake) => {
      const days = Array.from({ length: 250 }, (_, day) => {
        const price = 10 + Math.sin(day / 9);
        const prev_close = day === 100 ? (10 + Math.sin(99 / 9)) / 2 : null;
        return landedBar("600000.SH", Date.UTC(2024, 0, 1 + day, -8), price, {
          high: price + 0.3,
          prev_close,
        });
      });
      await landRows(lake, BARS_1D, days);
      await landReference(lake, INSTRUMENTS, [listed("600000.SH", { name: "浦发银行" })]);
    },
    { udf: "open", corsOrigins: [page] },
  );
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const tab = await openPage(browser);
  await tab.goto(`${page}/?feed=${service.url}/udf/forward`);
  await tab.waitForFunction("window.shown");
  expect(await tab.evaluate("window.shown")).toEqual({ resolutions: 11, bars: 250, marks: 1 });
});
