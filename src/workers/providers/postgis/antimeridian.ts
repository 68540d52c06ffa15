/**
 * SQL for a geography on a plane of degrees. Its edges take the shorter way around the Earth. Parts with an edge
 * across 180 degrees are split there, and areas that contain a pole are closed along it (RFC 7946, 3.1.9). A part
 * that would vanish because of this, such as an area without a width, is returned unchanged.
 */
export function cutAtAntimeridian(geometry: string): string {
  const part = `CASE WHEN EXISTS (SELECT FROM (${STEPS}) AS s WHERE s.turn <> 0) 
    THEN CASE ST_Dimension(d.geom) WHEN 1 THEN (${CUT_LINE}) ELSE (${CUT_POLYGON}) END ELSE d.geom END`;
  const parts = `SELECT ST_CollectionHomogenize(ST_Collect(${part} ORDER BY d.path)) FROM ST_Dump(${geometry}) AS d`;
  return `CASE WHEN ST_XMax(${geometry}) - ST_XMin(${geometry}) > 180 THEN (${parts}) ELSE ${geometry} END`;
}

/** The positions of the part `d` by ring, and how many turns their longitudes jump. A pole has all longitudes. */
const STEPS = `SELECT w.*, coalesce(CASE WHEN abs(w.y) = 90 AND w.y = w.y0 THEN 0 ELSE -round((w.x - w.x0) / 360) END, 0) AS turn
  FROM (SELECT v.*, lag(v.x) OVER o AS x0, lag(v.y) OVER o AS y0
    FROM (SELECT p.path, p.path[1:cardinality(p.path) - 1] AS ring, p.geom, ST_X(p.geom) AS x, ST_Y(p.geom) AS y
      FROM ST_DumpPoints(d.geom) AS p) AS v
    WINDOW o AS (PARTITION BY v.ring ORDER BY v.path)) AS w`;

/**
 * Points at which the step to a position crosses 180 degrees. One ends a run of positions; the next run starts 360
 * degrees from it.
 */
const CROSSING = `ST_LineInterpolatePoint(ST_MakeLine(u.geom0, ST_Translate(u.geom, 360 * u.turn, 0)),
  least(1, greatest(0, coalesce((180 * u.turn - u.x0) / nullif(u.x + 360 * u.turn - u.x0, 0), 0))))`;

/** The line `d` as the lines between its crossings. ST_Split() fails on lines that run along 180 degrees. */
const CUT_LINE = `SELECT coalesce(ST_Collect(l.line ORDER BY l.run) FILTER (WHERE ST_Length(l.line) > 0), d.geom)
  FROM (SELECT i.run, ST_RemoveRepeatedPoints(ST_MakeLine(i.point ORDER BY u.path, i.place)) AS line
    FROM (SELECT s.*, lag(s.geom) OVER (ORDER BY s.path) AS geom0,
        count(*) FILTER (WHERE s.turn <> 0) OVER (ORDER BY s.path) AS run FROM (${STEPS}) AS s) AS u,
      LATERAL (SELECT CASE WHEN u.turn <> 0 THEN ${CROSSING} END AS point) AS c,
      LATERAL (VALUES (u.run - 1, 1, c.point), (u.run, 2, ST_Translate(c.point, -360 * u.turn, 0)), (u.run, 3, u.geom)) AS i (run, place, point)
    WHERE i.point IS NOT NULL
    GROUP BY i.run) AS l`;

/**
 * The rings as lines without jumps. A ring around a pole ends `turn` degrees from its start. The pole is the one in the
 * smaller part of the Earth.
 */
const LINES = `SELECT u.ring, ST_MakeLine(ST_Translate(u.geom, 360 * u.turns, 0) ORDER BY u.path) AS line,
    360 * (array_agg(u.turns ORDER BY u.path DESC))[1] AS turn,
    sum((sin(radians(u.y)) + sin(radians(u.y0))) * (u.x - u.x0 + 360 * u.turn)) AS north
  FROM (SELECT s.*, sum(s.turn) OVER (PARTITION BY s.ring ORDER BY s.path) AS turns FROM (${STEPS}) AS s) AS u
  GROUP BY u.ring`;

/** Three turns around the pole, so that all longitudes from -180 to 180 are included. */
const CAP = `ST_MakeLine(ARRAY[ST_Translate(k.line, -k.turn, 0), k.line, ST_Translate(k.line, k.turn, 0),
  ST_Translate(ST_EndPoint(k.line), k.turn, k.pole - ST_Y(ST_EndPoint(k.line))),
  ST_Translate(ST_StartPoint(k.line), -k.turn, k.pole - ST_Y(ST_StartPoint(k.line))),
  ST_Translate(ST_StartPoint(k.line), -k.turn, 0)])`;

const WRAPPED = `ST_WrapX(ST_WrapX(ST_MakePolygon(k.line), 180, -360), -180, 360)`;

const AREAS = `SELECT k.ring, CASE k.turn WHEN 0 THEN ${WRAPPED}
    ELSE ST_Intersection(ST_MakeValid(ST_MakePolygon(${CAP})), ST_MakeEnvelope(-180, -90, 180, 90, ST_SRID(k.line))) END AS area
  FROM (SELECT l.*, CASE WHEN l.north * l.turn < 0 THEN -90 ELSE 90 END AS pole FROM (${LINES}) AS l) AS k`;

/** The polygon `d` within -180 to 180. Holes may be closed along the pole as the ring around them is. */
const CUT_POLYGON = `SELECT CASE WHEN NOT ST_IsEmpty(c.area) THEN c.area ELSE d.geom END
  FROM (SELECT ST_CollectionExtract(CASE WHEN a.holes IS NULL THEN a.shell ELSE ST_Difference(ST_MakeValid(a.shell), a.holes) END, 3) AS area
    FROM (SELECT (array_agg(r.area ORDER BY r.ring))[1] AS shell,
        ST_Union(ST_MakeValid(r.area)) FILTER (WHERE r.ring > '{1}') AS holes
      FROM (${AREAS}) AS r) AS a) AS c`;
