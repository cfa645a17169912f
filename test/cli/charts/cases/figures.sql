-- %% figures percent=b
SELECT 1 AS a_name, 0.5 AS b
