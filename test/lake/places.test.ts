import { expect, test } from "vitest";
import { environmentFor, placesOf, segmentPlaceOf } from "../../src/lake/places.js";

const STORE = {
  AWS_ENDPOINT_URL_S3: "http://127.0.0.1:1",
  AWS_ACCESS_KEY_ID: "a",
  AWS_SECRET_ACCESS_KEY: "b",
};

test("the work folder of a lake in a store always has the same name: what a killed run has received is there", () => {
  const work = (url: string): string => placesOf(url, { ...STORE, BARLAKE_WORK: "/w" }).work.path;
  expect(work("s3://bucket/prefix")).toMatch(/^\/w\/bucket-prefix-[0-9a-f]{12}$/);
  expect(work(`s3://bucket/${"a".repeat(80)}`)).toMatch(
    new RegExp(`^/w/bucket-${"a".repeat(53)}-[0-9a-f]{12}$`),
  );
});

test("segments are in the user's cache, in a named folder, or nowhere", () => {
  const place = segmentPlaceOf("/data/lake", {}, { XDG_CACHE_HOME: "/cache" });
  expect(place?.root).toBe("/cache/barlake/segments");
  expect(place?.folder).toMatch(/^\/cache\/barlake\/segments\/data-lake-[0-9a-f]{12}$/);
  const named = { BARLAKE_SEGMENTS: "/fast" };
  expect(segmentPlaceOf("s3://b/p", {}, named)?.root).toBe("/fast");
  expect(segmentPlaceOf("s3://b/p", { folder: "/own", maxBytes: 5 }, named)).toMatchObject({
    root: "/own",
    maxBytes: 5,
  });
  expect(segmentPlaceOf("/data/lake", {}, { BARLAKE_SEGMENTS: "off" })).toBeUndefined();
});

test("another process that opens a lake gets the keys of its store, and no others", () => {
  const environment = {
    ...STORE,
    BARLAKE_API_KEY: "c",
    BARLAKE_WORK: "/w",
    HTTPS_PROXY: "http://user:d@proxy",
  };
  const { PATH, HOME } = process.env;
  expect(environmentFor("s3://bucket/prefix", environment)).toMatchObject({
    ...STORE,
    PATH,
    HOME,
    BARLAKE_WORK: "/w",
    HTTPS_PROXY: "http://user:d@proxy",
  });
  const ofFolder = environmentFor("/data/lake", environment);
  expect(ofFolder).toMatchObject({ PATH, HOME, BARLAKE_WORK: "/w" });
  for (const passed of [environmentFor("s3://bucket/prefix", environment), ofFolder])
    expect(Object.keys(passed)).not.toContain("BARLAKE_API_KEY");
  for (const name of [...Object.keys(STORE), "HTTPS_PROXY"])
    expect(Object.keys(ofFolder)).not.toContain(name);
});
